"""The steps of a script: what is done with each, from the first that is seen to the last that is timed.

One step is watched for the models that it runs, some warm up, some are recorded, one counts lines, one lists its
operations, and the rest is timed with nothing attached. A step in which something else happened (between_steps.py) is
neither recorded nor timed.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable
from time import perf_counter, perf_counter_ns
from typing import Any

from ridgeline_runner import devices, observed_writes, timing
from ridgeline_runner.between_steps import BetweenSteps
from ridgeline_runner.communication import CommunicationWatch
from ridgeline_runner.energy import Counters, StepsMeter
from ridgeline_runner.entry import tensors_in
from ridgeline_runner.failure import Failure, describe
from ridgeline_runner.line_watch import LineWatch
from ridgeline_runner.loader_watch import LoaderWatch
from ridgeline_runner.processors import ProcessorWatch
from ridgeline_runner.recorder import Recorder, Stage
from ridgeline_runner.reporter import Reporter
from ridgeline_runner.result import Result
from ridgeline_runner.samples import ROUND_SECONDS, Sampled, recorded_iterations
from ridgeline_runner.script_batch import BatchSize
from ridgeline_runner.step_boundary import StepBoundary
from ridgeline_runner.step_listing import OwnStep

_MAX_WARMUP = 30
_LEAST_WARMUP = 3
_LEAST_RECORDED = 3
_LONG = 4  # a recorded step that takes so many times the usual, and so much longer, contains something else
_LONG_NS = 50_000_000
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
        self._state: Callable[[int, list[str]], None] = self._first_step
        self._step_began = 0  # nanoseconds
        self._warmup: list[int] = []
        self._recorded = 0
        self._retries = 0
        self._long = 0  # recorded steps that were left out for that
        self._batch = BatchSize()
        self._roots_called: dict[int, Any] = {}
        self._undo: list[Callable[[], None]] = []
        self._processors = ProcessorWatch()
        self._rounds: list[int] = []
        self._device = devices.Device()
        self._counters = Counters()
        self._counts_energy = False
        self._meter = StepsMeter(self._counters)
        self._sampled: Sampled | None = None
        self._result: Result | None = None
        self._deadline = 0.0
        self._own_step: OwnStep | None = None  # as long as it is listed
        self._listed: dict[str, Any] | None = None
        self._compiles = False
        self._ends_after_listing = False

    def compiles(self) -> None:
        """The script uses torch.compile, which does not compile while operations are listed."""
        self._compiles = True

    def ends_after_listing(self) -> bool:
        """Whether a step is being listed; then nothing is timed after it. A signal may come inside an operation, where
        the list cannot be ended."""
        self._ends_after_listing = self._own_step is not None
        return self._ends_after_listing

    @property
    def has_result(self) -> bool:
        return self._result is not None

    # ---- what happens ------------------------------------------------------------------------------------------------

    def step_ended(self, now: int) -> None:
        self.steps += 1
        happened = self._between.step_ended(now)
        if self._state != self._timing:
            self._loaders.step_ended(None)
        self._state(now, happened)
        self._step_began = perf_counter_ns()

    def part_ended(self) -> None:
        """An optimizer has stepped, and no step has ended."""
        if self._state == self._first_step:
            self.steps += 1

    def batch_fetched(self, iterator: Any, batch: Any) -> None:
        self._batch.loaded(iterator, batch)
        if self._recorded:
            self._recorder.set_inputs(tensors_in(batch))

    def order_changed(self) -> None:
        """Where a step ends is looked for again: begins anew, unless something was sent."""
        if self._sampled is not None:
            self._reporter.warnings.append("The recording ended early: the optimizers began to step in another order.")
            self.is_done = True
            return
        self._end_listing()
        if self._recorded:
            self._end_recording()
        self._recorded = 0
        self._warmup.clear()
        self._state = self._first_step

    # ---- before the recording ----------------------------------------------------------------------------------------

    def _first_step(self, now: int, happened: list[str]) -> None:
        """One step has ended: what follows is the first that is watched from its begin."""
        import torch

        self._recorder.stage(Stage.ITERATION)
        called: list[Any] = []
        thread = threading.get_ident()

        def before(module: Any, arguments: Any) -> None:
            if not called and threading.get_ident() == thread:
                self._roots_called.setdefault(id(module), module)
                self._batch.called(arguments)
            called.append(module)

        def after(*_: Any) -> None:
            if called:
                called.pop()

        hooks = torch.nn.modules.module
        handles = [
            hooks.register_module_forward_pre_hook(before),
            hooks.register_module_forward_hook(after, always_call=True),
        ]
        self._undo = [handle.remove for handle in handles]
        self._batch.reset()
        self._between.begin()
        self._state = self._watched

    def _watched(self, now: int, happened: list[str]) -> None:
        """The step with hooks has ended: the models and the batch size are known, unless it was no usual step."""
        if happened and self._retries < _MOST_RETRIES:
            self._retries += 1
            self._roots_called = {}
            self._batch.reset()
            return
        self._retries = 0
        self.remove_hooks()
        self._name_models()
        self._batch.decide()
        self._between.begin()
        self._state = self._warming

    def remove_hooks(self) -> None:
        for undo in self._undo:
            undo()
        self._undo = []
        self._end_listing()

    def _name_models(self) -> None:
        """Those called in the step whose parameters an optimizer has; without optimizers of torch, all with some."""
        owned = {id(p) for one in self._optimizers for group in one.param_groups for p in group["params"]}
        models = [
            model
            for model in self._roots_called.values()
            if any(id(parameter) in owned if owned else parameter.requires_grad for parameter in model.parameters())
        ]
        self._roots_called = {}
        outer = [
            model
            for model in models
            if not any(model is not other and model in set(other.modules()) for other in models)
        ]
        self._communication.follow(outer)
        parameters = self._recorder.set_models(tuple(outer), {})
        self._device = devices.Device.of(parameters)
        self._recorder.use_device(self._device)

    def _warming(self, now: int, happened: list[str]) -> None:
        self._warmup.append(now - self._step_began)
        self._recorder.forget_freed()
        slow = min(self._warmup) > 1e9
        enough = len(self._warmup) >= (2 if slow else _LEAST_WARMUP)
        if enough and (slow or timing.is_warm(self._warmup) or len(self._warmup) >= _MAX_WARMUP):
            self._between.learn_regular()
            estimate = Sampled(self._batch.size, False, self._warmup)
            self._wanted = self._options["steps"] or recorded_iterations(
                estimate, self._options["timeBudgetSeconds"], chosen=True
            )
            self._usual_ns = timing.median(self._warmup)
            if self._options["agreeSteps"]:
                self._ask_which_steps()
            else:
                self._record_from_here()

    # ---- the ranks of a job record the same steps --------------------------------------------------------------------

    def _ask_which_steps(self) -> None:
        """The job knows when all ranks are warm, and decides."""
        self._reporter.channel.send(
            {"type": "readyToRecord", "step": self.steps, "stepNs": self._usual_ns, "steps": self._wanted}
        )
        self._state = self._waiting_for_answer

    def _waiting_for_answer(self, now: int, happened: list[str]) -> None:
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

    def _waiting_for_step(self, now: int, happened: list[str]) -> None:
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
        self._begin_iteration()
        self._state = self._recording

    def _begin_iteration(self) -> None:
        self._communication.iteration_begins(self.steps)
        self._began = self._recorder.begin_iteration()

    def _end_recording(self) -> None:
        self._recorder.end()
        self._communication.end()

    def _recording(self, now: int, happened: list[str]) -> None:
        self._device.synchronise()
        if self._options["agreeSteps"] and (answer := self._reporter.channel.receive_if_any()):
            self._end_recording()  # another rank has missed the first step, and all begin again
            self._recorded = 0
            self._follow_decision(answer)
            return
        took = perf_counter_ns() - self._began
        is_long = took > max(_LONG * self._usual_ns, self._usual_ns + _LONG_NS)
        if (happened or is_long) and self._end_before_this_step():
            self._long += not happened
            return
        self._recorder.end_iteration()
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

    def _counting(self, now: int, happened: list[str]) -> None:
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

    def _listing(self, now: int, happened: list[str]) -> None:
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
        self._deadline = perf_counter() + self._options["timeBudgetSeconds"]
        self._processors.begin()
        self._loaders.timing_began()
        if not _is_rank():
            self._counters = self._device.energy_counters()
            self._counts_energy = bool(self._counters.found)
            self._meter = StepsMeter(self._counters)
            self._meter.begin()
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
        )
        self._result.send(final=False, script=self._description())
        gc.collect()

    # ---- the timing --------------------------------------------------------------------------------------------------

    def _timing(self, now: int, happened: list[str]) -> None:
        self._device.synchronise()
        took = perf_counter_ns() - self._step_began
        self._loaders.step_ended(None if happened else took)
        if not happened:  # a step that is long for another reason counts: the median holds nevertheless
            self._rounds.append(took)
        self._meter.step_ended(is_usual=not happened)
        sampled = self._sampled
        assert sampled is not None
        if len(self._rounds) >= sampled.per_round:
            self._send_round()
            self._processors.sample()
            self._device.sample()
            over = perf_counter() > self._deadline
            self.is_done = (over and sampled.enough_rounds) or sampled.is_known
        elif perf_counter() > self._deadline + 4 * self._options["timeBudgetSeconds"]:
            self.is_done = True

    def _send_round(self) -> None:
        sampled = self._sampled
        assert sampled is not None
        self._reporter.channel.send({"type": "timed", "batchSize": sampled.batch_size, "timesNs": self._rounds})
        sampled.round_medians_ns.append(timing.median(self._rounds))
        self._rounds = []

    # ---- the end -----------------------------------------------------------------------------------------------------

    def finish(self, traced_calls: int) -> None:
        """Sends what is known; `traced_calls` of Python functions were slowed down to find where steps end."""
        self.remove_hooks()
        if self._sampled is None and self._recorded > 1:
            self._end_recording()  # without the iteration that was not ended
            self._send_recording()
        warnings = self._reporter.warnings
        warnings += self._boundary.warnings
        if self._long:
            steps = "1 recorded step" if self._long == 1 else f"{self._long} recorded steps"
            warnings.append(f"Left out: {steps} that took more than {_LONG} times as long as usual.")
        warnings += self._batch.warnings
        if traced_calls and self.steps:
            warnings.append(
                f"Before Python 3.12 a line is found by tracing calls: the times include that of some "
                f"{traced_calls // self.steps} traced calls in each step, and how often lines ran is not known."
            )
        if not _is_rank():  # the other ranks of a job use the processors by right
            self._processors.end()
        if self._result is not None:
            measured_energy = self._meter.result()
            warnings += self._counters.problems if self._counts_energy else []
            self._result.send(final=True, script=self._description(), energy=measured_energy)
        elif self.steps:
            self._reporter.channel.send(self._too_few_steps())

    def _description(self) -> dict[str, Any]:
        """As protocol/script_run.h has it."""
        import torch

        processors = len(os.sched_getaffinity(0))
        return {
            "boundary": self._boundary.description(),
            "phases": self._between.description(),
            "loading": self._loaders.description(torch.get_num_threads() if self._device.is_host else 1, processors),
            "loaderSizes": self._batch.loader_sizes,
            "sizesObstacle": self._batch.obstacle,
            "writes": observed_writes.paths(),
        }

    def _too_few_steps(self) -> dict[str, Any]:
        place = self._boundary.description()
        counted = {
            "optimizer": f"{self.steps} steps of its optimizers",
            "dataLoader": f"{self.steps} batches of its data loaders",
            "line": f"line {place['line']} of {os.path.basename(place['file'])} had run {self.steps} times",
        }[self._boundary.kind]
        return describe(
            Failure(
                "no-training-step",
                f"The script ended after {counted}. Two warm-up steps and two recorded ones are the least that figures "
                "can be made of.",
            ),
            "iteration",
            None,
        )


def _is_rank() -> bool:
    """Of a job of several processes, which share the machine's counters."""
    return os.environ.get("WORLD_SIZE", "1") != "1"
