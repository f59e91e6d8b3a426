"""The steps of a script: what is done with each, from the first that is seen to the last that is timed.

One step is watched for the models that it runs, some warm up, some are recorded, one counts lines, one lists its
operations, and the rest is timed with nothing attached. A step in which something else happened (between_steps.py) is
neither recorded nor timed.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import Any

from ridgeline_runner.common import timing
from ridgeline_runner.common.dynamo import Compilations, not_settled
from ridgeline_runner.machine import devices
from ridgeline_runner.machine.machine_limits import usable_processors
from ridgeline_runner.machine.processors import ProcessorWatch
from ridgeline_runner.script.backward_watch import Backward
from ridgeline_runner.script.batch import BatchSize
from ridgeline_runner.script.between_steps import BetweenSteps
from ridgeline_runner.script.communication import CommunicationWatch
from ridgeline_runner.script.experiment import ScriptExperiment
from ridgeline_runner.script.line_watch import LineWatch
from ridgeline_runner.script.loader_watch import LoaderWatch
from ridgeline_runner.script.step_boundary import StepBoundary
from ridgeline_runner.script.step_clock import StepClock
from ridgeline_runner.script.timed_steps import TimedSteps, is_rank
from ridgeline_runner.script.too_few_steps import too_few_steps
from ridgeline_runner.script.trained_models import trained_models
from ridgeline_runner.script.whole_time import LONG, LONG_STEP, LeftOut
from ridgeline_runner.step.entry import tensors_in
from ridgeline_runner.step.recorder import Recorder, Stage
from ridgeline_runner.step.reporter import Reporter
from ridgeline_runner.step.result import Result
from ridgeline_runner.step.samples import ROUND_SECONDS, Sampled, recorded_iterations
from ridgeline_runner.step.step_listing import OwnStep

_MAX_WARMUP = 30
_LEAST_WARMUP = 3
_LEAST_RECORDED = 3
_LONG_NS = 10_000_000  # a recorded step that takes LONG times the usual, and so much longer, contains something else
_MOST_RETRIES = 5  # recordings that are begun again, or counted steps, for what happened in them


class Measurement:
    def __init__(
        self,
        recorder: Recorder,
        reporter: Reporter,
        options: dict[str, Any],
        optimizers: Iterable[Any],
        between: BetweenSteps,
        loaders: LoaderWatch,
        boundary: StepBoundary,
        communication: CommunicationWatch,
    ) -> None:
        """`options` are those of the job, with `environmentRoots` and `entry`, the script; `optimizers` are all that
        the script has, at any time."""
        self._recorder = recorder
        self._reporter = reporter
        self._options = options
        self._optimizers = optimizers
        self._between = between
        self._loaders = loaders
        self._boundary = boundary
        self._communication = communication
        self._first_recorded = 0  # number of the step, where the job decides that
        self.steps = 0  # and parts of steps, as long as none was found
        self.is_done = False
        self._state: Callable[[int, dict[str, int]], None] = self._first_step
        self._clock = StepClock()
        self._warmup: list[int] = []
        self._recorded = 0
        self._closure_runs = 0  # backward passes in closures of optimizers, in the step that goes on
        self._recorded_runs: set[int] = set()  # likewise, of the recorded steps
        self._retries = 0
        self._left_out = LeftOut()
        self._timed: TimedSteps | None = None  # until timing begins
        self._timed_from = 0  # number of the first timed step
        self._moment = 0  # of the recorder, when the step began
        self._batch = BatchSize(options["batchSize"])
        self._undo: list[Callable[[], None]] = []
        self._processors = ProcessorWatch()
        self._device = devices.Device()
        self._sampled: Sampled | None = None
        self._result: Result | None = None
        self._own_step: OwnStep | None = None  # as long as it is listed
        self._listed: dict[str, Any] | None = None
        self._compiles = False
        self._compilations = Compilations()
        self._has_settled = True  # torch.compile has
        self._ends_after_listing = False
        self._last_step: int | None = None  # with which the ranks of a job end; None: not known
        self.backwards = 0  # that have begun
        self._forward: tuple[Any, ...] | None = None  # with which the step begins
        self._models: tuple[Any, ...] = ()
        self._experiment: ScriptExperiment | None = None  # in place of a recording

    def compiles(self) -> None:
        """The script uses torch.compile, which does not compile while operations are listed."""
        self._compiles = True

    def ends_after_listing(self) -> bool:
        """Whether a step is being listed; then nothing is timed after it. A signal may come inside an operation, where
        the list cannot be ended."""
        self._ends_after_listing = self._own_step is not None
        return self._ends_after_listing

    @property
    def is_timing(self) -> bool:
        """Whether steps are timed, with nothing attached."""
        return self._state == self._timing

    @property
    def has_result(self) -> bool:
        return self._result is not None or (self._experiment is not None and self.is_done)

    def failed(self, error: BaseException) -> bool:
        """The script ends with an exception. Whether an experiment has begun, which tells of it."""
        if self._experiment is not None:
            self._experiment.failed(error)
        return self._experiment is not None

    def record_error(self, first_call: int) -> bytes | None:
        """The step that goes on has run out of memory: a recording of it; None where none can be made. `first_call`:
        moment of the recorder before the first step."""
        if self._sampled is not None or self._experiment is not None or self._state in (self._counting, self._listing):
            return None
        if self._recorded > 1:
            return None  # finish() sends the steps before
        if self._recorded:
            self._recorder.end_iteration()
            self._end_recording()
            self._recorded = 0
            return self._recorder.finish()
        if not self._models:
            self._models = trained_models({}, self._optimizers)
            self._device = devices.Device.of(self._recorder.set_models(self._models, {}))
            self._recorder.observe_memory_of(self._device)
        begin = self._moment if self.steps else first_call
        if not begin or not self._models:
            return None  # the weights could not be told from the step's memory
        self._recorder.record_past(begin)
        time.sleep(0.01)
        return self._recorder.finish()

    @property
    def batch_size(self) -> int:
        """As far as it is known; 0: not yet."""
        is_watched = self._state not in (self._first_step, self._watched)
        return self._batch.size if is_watched and self._batch.samples.is_certain else 0

    @property
    def reserved_bytes(self) -> int:
        return self._device.reserved_bytes()

    # ---- what happens ------------------------------------------------------------------------------------------------

    def step_ended(self, now: int, forward: tuple[Any, ...] | None = None) -> None:
        """`forward`: the module that is called now, and its arguments, where that ended the step."""
        self._forward = forward
        self.steps += 1
        has_compiled, ns = self._compilations.step_ended()
        if has_compiled:
            self._between.compiled(min(ns, now - self._clock.began) if ns else now - self._clock.began)
        happened = self._between.step_ended(now)
        if self._state != self._timing:
            self._loaders.step_ended(None)
        if self._state not in (self._first_step, self._watched, self._waiting_for_end):
            self._batch.step_ended()
        if self._state in (self._warming, self._waiting_for_answer, self._waiting_for_step):
            self._observe_memory(happened)
        self._state(now, happened)
        if forward is not None and self._boundary.kind == "forward":
            self._batch.model_begins(forward[1:])
        if self._sampled is None:
            self._moment = self._recorder.moment()
        self._closure_runs = 0
        self._clock.step_begins()

    def _observe_memory(self, happened: dict[str, int]) -> None:
        self._observe_bytes(self._most_bytes(), ", ".join(happened))

    def _most_bytes(self) -> int | None:
        """The most memory of the step that has ended: before the recorder forgets it."""
        alive = self._recorder.alive_bytes([self._moment])
        return alive[0][1] if alive else None

    def _observe_bytes(self, most_bytes: int | None, reason: str) -> None:
        if most_bytes is not None:
            self._left_out.observe(most_bytes, self._batch.samples.steps - 1, reason)

    def _left_out_step(self, happened: dict[str, int], took_ns: int, most_bytes: int | None = None) -> None:
        """`most_bytes`: of its memory; None where that is not observed."""
        reason = ", ".join(happened) or LONG_STEP
        self._left_out.add(reason, took_ns)
        self._observe_bytes(most_bytes, reason)

    def part_ended(self) -> None:
        """An optimizer has stepped, and no step has ended."""
        if self._state == self._first_step:
            self.steps += 1

    def backward_begins(self, backward: Backward) -> None:
        """On the thread that is followed, outside of other backward passes."""
        self.backwards += 1
        self._clock.backward_begins()
        self._batch.backward_begins(backward)
        if self._experiment is not None:
            self._experiment.backward_begins(backward)

    def backward_has_ended(self) -> None:
        self._clock.backward_has_ended()

    def optimizer_stepped(self, optimizer: int, closure_runs: int) -> None:
        """`optimizer`: by id. `closure_runs`: backward passes inside its step, in a closure."""
        self._closure_runs += closure_runs
        self._batch.part_ended(optimizer, closure=closure_runs > 0)

    def batch_fetched(self, iterator: Any, batch: Any, indices: int | None) -> None:
        self._batch.loaded(iterator, batch, indices)
        if self._recorded:
            self._recorder.set_inputs(tensors_in(batch))

    def order_changed(self) -> None:
        """Where a step ends is looked for again: begins anew, unless something was sent."""
        if self._sampled is not None or self._experiment is not None:
            self._reporter.warnings.append("The recording ended early: the optimizers began to step in another order.")
            self.is_done = True
            return
        self._end_listing()
        if self._recorded:
            self._end_recording()
        self._recorded = 0
        self._left_out = LeftOut()
        self._warmup.clear()
        self._state = self._first_step

    # ---- before the recording ----------------------------------------------------------------------------------------

    def _first_step(self, now: int, happened: dict[str, int]) -> None:
        """One step has ended: what follows is the first that is watched from its begin."""
        self._recorder.stage(Stage.ITERATION)
        forwards = self._batch.watch()
        if self._forward is not None:
            forwards.before(*self._forward)
            self._forward = None
        self._undo = [self._recorder.watch_module_calls(forwards.before, forwards.after)]
        self._between.begin()
        self._state = self._watched

    def _watched(self, now: int, happened: dict[str, int]) -> None:
        """The step with hooks has ended: the models and the batch size are known, unless it was no usual step."""
        if happened and self._retries < _MOST_RETRIES:
            self._retries += 1
            self.remove_hooks()
            self._first_step(now, happened)
            return
        self._retries = 0
        self.remove_hooks()
        forwards = self._batch.forwards
        self._use_models(trained_models(forwards.roots if forwards is not None else {}, self._optimizers))
        self._batch.decide()
        self._batch.step_ended()
        self._between.begin()
        self._state = self._warming

    def remove_hooks(self) -> None:
        for undo in self._undo:
            undo()
        self._undo = []
        self._end_listing()

    def _use_models(self, models: tuple[Any, ...]) -> None:
        self._models = models
        self._communication.follow(models)
        parameters = self._recorder.set_models(models, {})
        self._device = devices.Device.of(parameters)
        self._recorder.use_device(self._device)

    def _warming(self, now: int, happened: dict[str, int]) -> None:
        self._warmup.append(now - self._clock.began)
        self._recorder.forget_freed()
        slow = min(self._warmup) > 1e9
        has_settled = self._compilations.has_settled
        enough = len(self._warmup) >= (2 if slow else _LEAST_WARMUP) and has_settled
        if (enough and (slow or timing.is_warm(self._warmup))) or len(self._warmup) >= _MAX_WARMUP:
            self._has_settled = has_settled
            self._between.learn_regular(has_compiled=has_settled)
            estimate = Sampled(self._batch.size, False, self._warmup)
            self._wanted = self._options["steps"] or recorded_iterations(
                estimate, self._options["timeBudgetSeconds"], chosen=True
            )
            quiet = min(self._compilations.quiet_steps, len(self._warmup))
            self._usual_ns = timing.median(self._warmup[-quiet:])
            if self._options["experiment"]:
                self._begin_experiment()
            elif self._options["agreeSteps"]:
                self._ask_which_steps()
            else:
                self._record_from_here()

    # ---- an experiment -----------------------------------------------------------------------------------------------

    def _begin_experiment(self) -> None:
        self._experiment = ScriptExperiment(
            self._options["experiment"],
            self._recorder,
            self._reporter,
            self._models,
            self._optimizers,
            self._device,
            self._loaders,
            self._batch,
            self._options["memoryLimitBytes"],
        )
        self._state = self._experimenting
        self._experimenting(self._clock.began, {})

    def _experimenting(self, now: int, happened: dict[str, int]) -> None:
        self._device.synchronise()
        took = (perf_counter_ns() if self._device.is_awaited else now) - self._clock.began
        assert self._experiment is not None
        self.is_done = self._experiment.step_ended(took, happened)

    # ---- the ranks of a job record the same steps --------------------------------------------------------------------

    def _ask_which_steps(self) -> None:
        """The job knows when all ranks are warm, and decides."""
        self._ask_the_job(self._wanted, ends=False)
        self._state = self._waiting_for_answer

    def _ask_the_job(self, steps: int, *, ends: bool) -> None:
        ready = {"type": "readyToRecord", "step": self.steps, "stepNs": self._usual_ns, "steps": steps, "ends": ends}
        self._reporter.channel.send(ready)

    def _waiting_for_answer(self, now: int, happened: dict[str, int]) -> None:
        self._recorder.forget_freed()
        answer = self._reporter.channel.receive_if_any()
        if answer is not None:
            self._follow_decision(answer)

    def _follow_decision(self, answer: dict[str, Any]) -> None:
        self._first_recorded = answer["first"]
        self._wanted = answer["steps"]
        if self.steps > self._first_recorded and answer["asksAgain"]:
            self._ask_which_steps()  # it came too late
            return
        self._state = self._waiting_for_step
        self._record_when_agreed()

    def _waiting_for_step(self, now: int, happened: dict[str, int]) -> None:
        self._recorder.forget_freed()
        answer = self._reporter.channel.receive_if_any()
        if answer is not None:  # another rank has missed that step, and there is a new decision
            self._follow_decision(answer)
        else:
            self._record_when_agreed()

    def _record_when_agreed(self) -> None:
        if self.steps >= self._first_recorded:
            self._record_from_here()

    # ---- the recording -----------------------------------------------------------------------------------------------

    def _record_from_here(self) -> None:
        self._recorder.begin()
        self._communication.begin()
        self._recorded = 1
        self._recorded_runs = set()
        self._begin_iteration()
        self._state = self._recording

    def _begin_iteration(self) -> None:
        self._communication.iteration_begins(self.steps)
        self._began = self._recorder.begin_iteration()

    def _end_recording(self) -> None:
        self._recorder.end()
        self._communication.end()

    def _recording(self, now: int, happened: dict[str, int]) -> None:
        self._device.synchronise()
        if self._options["agreeSteps"] and (answer := self._reporter.channel.receive_if_any()):
            self._end_recording()  # another rank has missed the first step, and all begin again
            self._recorded = 0
            self._follow_decision(answer)
            return
        took = perf_counter_ns() - self._began
        is_long = took > max(LONG * self._usual_ns, self._usual_ns + _LONG_NS)
        if happened or is_long:
            most_bytes = self._most_bytes()  # a recording that begins again forgets it
            if self._end_before_this_step():
                self._left_out_step(happened, took, most_bytes)
                return
        self._recorder.end_iteration()
        self._recorded_runs.add(self._closure_runs)
        if self._recorded < self._wanted:
            self._recorded += 1
            self._begin_iteration()
        else:
            self._end_recording()
            self._count()

    def _end_before_this_step(self) -> bool:
        """The steps before are the recording, or it begins again. False: neither, and the step must do."""
        complete = self._recorded - 1
        least = self._options["steps"] or min(self._wanted, _LEAST_RECORDED)
        if complete >= least or (complete > 0 and self._retries >= _MOST_RETRIES):
            self._end_recording()  # without the iteration that was not ended
            self._count()
            return True
        if self._retries >= _MOST_RETRIES:
            return False
        self._retries += 1
        self._end_recording()
        self._record_from_here()
        return True

    def _count(self) -> None:
        if LineWatch.traces_calls and self._options["stepBoundary"]["kind"] == "line":
            self._list()  # both need the interpreter's trace function
            return
        self._recorder.begin_counting(self._options["environmentRoots"])
        self._state = self._counting

    def _counting(self, now: int, happened: dict[str, int]) -> None:
        self._recorder.end_counting()
        if happened and self._retries < _MOST_RETRIES:
            self._retries += 1
            self._recorder.begin_counting(self._options["environmentRoots"])
        else:
            self._list()

    def _list(self) -> None:
        if self._options["loaderSizes"]:  # the operations of the script's own size are known
            self._begin_timing()
            return
        if self._compiles:
            self._listed = {"type": "stepListed", "reason": "torch.compile does not compile while they are listed"}
            self._begin_timing()
            return
        self._own_step = OwnStep()
        self._own_step.begin()
        self._state = self._listing

    def _listing(self, now: int, happened: dict[str, int]) -> None:
        self._end_listing()
        if happened and self._retries < _MOST_RETRIES and not self._ends_after_listing:
            self._retries += 1
            self._list()
        else:
            self._begin_timing()
            self.is_done = self._ends_after_listing

    def _end_listing(self) -> None:
        if self._own_step is not None:
            self._listed = self._own_step.end()
            self._own_step = None

    def _begin_timing(self) -> None:
        self._send_recording()
        if self._listed:
            self._reporter.channel.send(self._listed)
        assert self._sampled is not None
        self._timed_from = self._batch.samples.steps
        self._loaders.timing_began()
        self._timed = TimedSteps(
            self._sampled,
            self._reporter.channel,
            self._device,
            self._processors,
            self._recorded_runs,
            self._options["timeBudgetSeconds"],
        )
        self._state = self._timing

    def _send_recording(self) -> None:
        self._sampled = Sampled(self._batch.size, False, self._warmup, ROUND_SECONDS)
        recording = self._recorder.finish()
        self._recorder.detach()
        self._reporter.channel.send(
            {
                "type": "recording",
                "batchSize": self._batch.size,
                "bytes": len(recording),
                "check": False,
                "warmupNs": self._warmup,
            }
        )
        self._reporter.channel.send_bytes(recording)
        if communication := self._communication.description():
            self._reporter.channel.send({"type": "communication", **communication})
        options = self._options
        main = options["entry"] or os.path.abspath(getattr(sys.modules["__main__"], "__file__", None) or "")
        self._result = Result(
            {**options, "entry": main},
            self._reporter,
            self._recorder,
            self._device,
            self._processors,
            self._batch.size,
            sys.modules.get("ridgeline_runner.cuda.cpu_for_cuda"),  # imported where it stands in: --device cpu
        )
        self._result.send(final=False, script=self._description())
        gc.collect()

    # ---- the timing --------------------------------------------------------------------------------------------------

    def _timing(self, now: int, happened: dict[str, int]) -> None:
        self._device.synchronise()
        # On the host the step ended at `now`: what this module did since then is no part of it.
        took = (perf_counter_ns() if self._device.is_awaited else now) - self._clock.began
        self._loaders.step_ended(None if happened else took)
        timed = self._timed
        assert timed is not None
        contained = timed.step_ended(took, self._clock.outside_ns(took), self._closure_runs, happened)
        if contained:
            self._left_out_step(contained, took)
        if timed.are_enough(expects_cycle=self._left_out.has_any):
            self._measured()

    def _measured(self) -> None:
        """The ranks of a job that are stopped end with the same step: one that ended alone would fail the others."""
        if self._options["stop"] and self._options["agreeSteps"]:
            self._ask_when_to_end()
        else:
            self.is_done = True

    def _ask_when_to_end(self) -> None:
        self._ask_the_job(1, ends=True)
        self._last_step = None
        self._state = self._waiting_for_end

    def _waiting_for_end(self, now: int, happened: dict[str, int]) -> None:
        answer = self._reporter.channel.receive_if_any()
        if answer is not None:
            self._last_step = answer["first"]
            if self.steps > self._last_step and answer["asksAgain"]:
                self._ask_when_to_end()
                return
        self.is_done = self._last_step is not None and self.steps >= self._last_step

    # ---- the end -----------------------------------------------------------------------------------------------------

    def finish(self, traced_calls: int) -> None:
        """Sends what is known; `traced_calls` of Python functions were slowed down to find where steps end."""
        self.remove_hooks()
        if self._experiment is not None:
            self._experiment.finish()
            return
        if self._sampled is None and self._recorded > 1:
            self._end_recording()  # without the iteration that was not ended
            self._send_recording()
        warnings = self._reporter.warnings
        warnings += self._boundary.warnings
        samples = self._batch.samples
        at = len(warnings) if samples.is_certain else 0  # what makes figures uncertain comes first
        warnings[at:at] = samples.warnings()
        if not self._has_settled:
            warnings.insert(0, not_settled(len(self._warmup)))
        if traced_calls and self.steps:
            warnings.append(
                f"Before Python 3.12 a line is found by tracing calls: the times include that of some "
                f"{traced_calls // self.steps} traced calls in each step, and how often lines ran is not known."
            )
        if not is_rank():  # the other ranks of a job use the processors by right
            self._processors.end()
        if self._result is not None:
            energy, problems = self._timed.energy() if self._timed is not None else (None, [])
            warnings += problems
            self._result.send(final=True, script=self._description(), energy=energy)
        elif self.steps or self.backwards:
            self._reporter.channel.send(too_few_steps(self._boundary, self.steps, self.backwards))

    def _description(self) -> dict[str, Any]:
        """As protocol/script_run.h has it."""
        import torch

        processors = max(1, int(usable_processors()))
        samples = self._batch.samples.by_step()
        return {
            "boundary": self._boundary.description(),
            "phases": self._between.description(),
            "loading": self._loaders.description(torch.get_num_threads() if self._device.is_host else 1, processors),
            "samples": self._batch.samples.description(),
            "whole": self._timed.whole(samples[self._timed_from :]) if self._timed is not None else None,
            **self._left_out.description(samples),
            "loaderSizes": self._batch.loader_sizes,
            "sizesObstacle": self._batch.obstacle,
        }
