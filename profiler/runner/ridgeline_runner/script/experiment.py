"""What-if answers about the step of a script, from a further run of it: the operations of the step with and without
changes, or changed steps timed in turns with unchanged ones.

The script takes the steps. Between two of them, once they are warm, changes are switched on and off around it
(changes/live.py). Each experiment is a generator that is resumed at the end of a step, and yields when the next one is
to be taken. An exception that a changed step raises ends the script, and so the run: what was found until then is sent,
with the reason for the change that was on, and the daemon runs the script again for the others.
"""

from __future__ import annotations

import copy
import gc
import random
import sys
from collections.abc import Generator, Iterable
from time import perf_counter
from typing import Any

from ridgeline_runner.changes.change import NotApplicable, title
from ridgeline_runner.changes.live import LiveChange
from ridgeline_runner.changes.trial import LEAST_ROUNDS, MOST_ROUNDS, WANTED_HALF_WIDTH, largest_drift, relative_drift
from ridgeline_runner.common import timing
from ridgeline_runner.common.dynamo import Compilations
from ridgeline_runner.common.failure import reason_of, release
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.script.backward_watch import Backward
from ridgeline_runner.script.batch import BatchSize
from ridgeline_runner.script.held_requests import HeldStorages, trained_storages
from ridgeline_runner.script.loader_watch import LoaderWatch
from ridgeline_runner.step.fresh_process import has_memory
from ridgeline_runner.step.recorder import Recorder
from ridgeline_runner.step.reporter import Reporter
from ridgeline_runner.step.step_listing import OwnStep

Steps = Generator[None, None, Any]  # resumed when a step has ended

_WARMUP = 2
_MOST_WARMUP = 30  # where torch.compile goes on compiling
_MOST_LISTED = 6  # steps of one list of operations
_LISTING_SECONDS = 0.5  # after which no further step is listed
_PEAK_STEPS = 2
_REQUEST_STEPS = 3  # after the first, memory that was freed at first has its place
_MOST_REQUEST_STEPS = 9
_LOSS_STEPS = 4
_SAME_LOSSES = 1e-5  # how far, relatively, those of the same steps differ
_ROUND_SECONDS = 0.05
_MOST_OF_ROUND = 50
_FEWEST_ROUNDS = 3
_MOST_RETRIES = 5  # of a step in which something else happened, such as an evaluation


class ScriptExperiment:
    """One experiment. Used on the thread that takes the steps; nothing is raised into the script but ChannelClosed."""

    def __init__(
        self,
        spec: dict[str, Any],
        recorder: Recorder,
        reporter: Reporter,
        models: tuple[Any, ...],
        optimizers: Iterable[Any],
        device: Device,
        loaders: LoaderWatch,
        batch: BatchSize,
        memory_limit_bytes: int,
    ) -> None:
        """`spec`: protocol/experiment.h, of kind capture or try."""
        self._spec = spec
        self._recorder = recorder
        self._reporter = reporter
        self._models = models
        self._optimizers = list(optimizers)
        self._device = device
        self._loaders = loaders
        self._batch = batch
        self._samples = batch.size
        self._memory_limit_bytes = memory_limit_bytes
        self._requests: list[list[str]] = spec["changes"]
        self._changes: dict[int, LiveChange] = {}  # that apply, by index of the request
        self._tried: dict[int, dict[str, Any]] = {}  # messages that are not sent yet
        self._unsent: dict[str, Any] = {}  # a message of what a step consists of, while more is found out about it
        self._rounds: tuple[list[float], list[float]] = ([], [])
        self._index = -1  # of the request that is at work; -1: none
        self._losses: list[float] | None = None  # of the step's backward passes, while they are noted
        self._compilations = Compilations()
        self._error: BaseException | None = None
        self._took_ns = 0
        self._happened: dict[str, int] = {}
        self._has_ended = False
        self._experiment = self._capture() if spec["kind"] == "capture" else self._try()

    # ---- what happens ------------------------------------------------------------------------------------------------

    def step_ended(self, took_ns: int, happened: dict[str, int]) -> bool:
        """A step has ended; the first call only begins. Whether the experiment has come to its end."""
        self._took_ns, self._happened = took_ns, happened
        try:
            next(self._experiment)
        except StopIteration:
            self._end()
        return self._has_ended

    def backward_begins(self, backward: Backward) -> None:
        import torch

        if self._losses is not None and backward.roots and isinstance(backward.roots[0], torch.Tensor):
            self._losses.append(float(backward.roots[0].detach().float().sum()))

    def failed(self, error: BaseException) -> None:
        """The script ends with that exception."""
        self._error = error

    def finish(self) -> None:
        """The script ends, whether or not the experiment did. Sends what is known."""
        if self._has_ended:
            return
        index = self._index
        if self._spec["kind"] == "capture":
            if self._unsent:
                self._send_unsent()
            elif index >= 0:
                self._send_captured(index, {"reason": self._reason()})
        else:
            for other, found in sorted(self._tried.items()):
                if other == index and self._error is None and len(self._rounds[1]) >= _FEWEST_ROUNDS:
                    self._reporter.channel.send(found | _of_rounds(self._rounds))
                elif other == index or self._error is None:
                    self._reporter.channel.send(_refused(other, self._reason()))
            if index >= 0 and index not in self._tried:
                self._reporter.channel.send(_refused(index, self._reason()))
        self._has_ended = True

    def _reason(self) -> str:
        return reason_of(self._error) if self._error is not None else "the script ended before enough steps were taken"

    def _end(self) -> None:
        import torch

        self._has_ended = True
        uses_cuda = not self._device.is_host
        self._reporter.channel.send(
            {
                "type": "experimentEnded",
                "threads": torch.get_num_threads(),
                "torch": torch.__version__,
                "cudaDevice": torch.cuda.get_device_name() if uses_cuda else "",
                "loaderSizes": self._batch.loader_sizes,
                "sizesObstacle": self._batch.obstacle,
            }
        )

    # ---- steps -------------------------------------------------------------------------------------------------------

    def _step(self) -> Steps:
        """One more step in which nothing else happens, as far as that can be had. Nanoseconds that it took."""
        for _ in range(_MOST_RETRIES):
            yield
            if not self._happened:
                break
        return self._took_ns

    def _warm_up(self, least: int) -> Steps:
        """Steps until torch.compile has settled. How many ran, if it has not; else 0."""
        self._compilations = Compilations()
        for number in range(_MOST_WARMUP):
            yield from self._step()
            self._compilations.step_ended()
            if number + 1 >= least and (self._compilations.has_settled or self._compilations.quiet_steps > number):
                return 0
        return _MOST_WARMUP

    def _switch_on(self, index: int) -> str:
        """Why it cannot be; empty: it is on."""
        self._index = index
        try:
            change = self._changes.get(index)
            change = change or LiveChange(self._requests[index], self._models, self._optimizers)
            change.on()
        except NotApplicable as reason:
            return str(reason)
        except Exception as error:  # noqa: BLE001 - whatever torch refuses is an answer
            reason_text = reason_of(error)
            release(error)
            return reason_text
        self._changes[index] = change
        return ""

    def _switch_off(self) -> None:
        self._changes[self._index].off()
        self._index = -1

    def _kept_storages(self) -> dict[int, int]:
        """What the process has only to take the change back that is on: bytes by address."""
        return self._changes[self._index].kept_storages() if self._index >= 0 else {}

    # ---- capture -----------------------------------------------------------------------------------------------------

    def _capture(self) -> Steps:
        names = {id(module): name for model in self._models for name, module in model.named_modules()}
        yield from self._warm_up(1)
        yield from self._list(names)
        self._send_unsent()
        for index, request in enumerate(self._requests):
            fraction = (index + 1) / (len(self._requests) + 1)
            self._reporter.progress("capture", fraction, f"Listing the operations of {title(request)}")
            reason = self._switch_on(index)
            if reason:
                self._send_captured(index, {"reason": reason})
            elif {"compile", "threads"} & {part.partition(":")[0] for part in request}:
                self._send_captured(index, {"operations": None})  # what these make of it is not known before they run
                self._switch_off()
            else:
                yield from self._warm_up(1)
                yield from self._list(names)
                self._switch_off()
                self._send_unsent()
            self._index = -1
            gc.collect()

    def _list(self, names: dict[int, str]) -> Steps:
        """Lists the step as it is now into self._unsent; what it asks of a device's allocator, too."""
        message = yield from self._listed(names)
        self._unsent = _captured(self._index, message)
        if "operations" in message and (self._is_elsewhere or not self._device.is_host):
            self._unsent["requests"] = yield from self._memory_requests()

    def _listed(self, names: dict[int, str]) -> Steps:
        """What a step consists of, as a message of its operations and memory. The times between its operations are the
        shortest of a few steps. For another device: without what makes the batches, which stays on the host."""
        message: dict[str, Any] = {}
        host: list[int] = []
        begin = perf_counter()
        for number in range(_MOST_LISTED):
            self._recorder.forget_freed()
            moments = [self._recorder.moment()]
            step = yield from self._own_step(names, moments)
            if step.reason:
                return {"reason": step.reason}
            if self._happened and number + 1 < _MOST_LISTED:
                continue
            if not message:
                alive = self._recorder.alive_bytes(moments)
                other = sum(self._kept_storages().values())
                if self._is_elsewhere:
                    trained = sum(storage.nbytes() for storages in trained_storages() for storage in storages)
                    other += max(0, alive[0][0] - trained)
                memory = step.log.memory([(at - other, most - other) for at, most in alive])
                message = {"operations": step.log.message(), **memory}
                host = step.host_ns
            elif len(step.host_ns) == len(host):
                host = list(map(min, host, step.host_ns))
            if perf_counter() - begin > _LISTING_SECONDS:
                break
        is_whole = len(host) == len(message["operations"]["sequence"]) // 4
        return {**message, "hostNs": host if is_whole else [], "pageFaultNs": [], "batchSize": self._samples}

    @property
    def _is_elsewhere(self) -> bool:
        """Whether the step of the host is listed as for another device."""
        return self._spec["forCuda"] and self._device.is_host

    def _own_step(self, names: dict[int, str] | None, moments: list[int]) -> Steps:
        """The next step, listed; `moments` gets one before each operation."""
        step = OwnStep(
            names,
            lambda: moments.append(self._recorder.moment()),
            for_cuda=self._is_elsewhere,
            leaves_out=lambda: self._is_elsewhere and self._loaders.is_at_work,
        )
        step.begin()
        yield
        step.close()
        return step

    def _memory_requests(self) -> Steps:
        """What a process of this step asks of the allocator of its device: for what is trained, in a step, for what
        optimizers keep, and in two more steps. What the first of these frees from before, such as gradients, is not
        asked for before it, as in the first step of a process. For another device: without what operations of the host
        need for themselves. Steps in which the script does something else, such as an evaluation, are avoided where
        that is possible soon."""
        left = _MOST_REQUEST_STEPS
        while True:
            self._recorder.forget_freed()
            held = HeldStorages(self._device.torch_device, self._kept_storages())
            begin = self._recorder.moment()
            moments: list[int] = []
            first_ended = 0
            for _ in range(_REQUEST_STEPS):
                step = yield from self._own_step(None, moments)
                first_ended = first_ended or self._recorder.moment()
                left -= 1
                if step.reason:
                    return []
                if self._happened and left >= _REQUEST_STEPS:
                    break
            else:
                computed = moments if self._is_elsewhere else []
                return held.with_requests(self._recorder.requests_since(begin, computed, first_ended))

    def _send_unsent(self) -> None:
        self._reporter.channel.send(self._unsent)
        self._unsent = {}

    def _send_captured(self, index: int, message: dict[str, Any]) -> None:
        self._reporter.channel.send(_captured(index, message))

    # ---- try ---------------------------------------------------------------------------------------------------------

    def _try(self) -> Steps:
        yield from self._warm_up(1)
        unchanged_peak = yield from self._peak()
        for index, request in enumerate(self._requests):
            self._reporter.progress("try", 0.4 * index / len(self._requests), f"Trying {title(request)}")
            reason = self._switch_on(index)
            if reason:
                self._index = -1
                self._reporter.channel.send(_refused(index, reason))
                continue
            unsettled = yield from self._warm_up(_WARMUP)
            peak = yield from self._peak()
            self._switch_off()
            yield from self._step()  # what the changed steps left is gone
            self._tried[index] = {
                "type": "tried",
                "change": index,
                "unchangedPeakBytes": unchanged_peak,
                "changedPeakBytes": peak,
                "unchangedBatchSize": self._samples,
                "changedBatchSize": self._samples,
                "unchangedUnsettledSteps": 0,
                "changedUnsettledSteps": unsettled,
                "lossDrift": None,
                "seedDrift": None,
            }
        if self._tried:
            yield from self._compare_losses()
        self._recorder.detach()  # it takes time
        for number, index in enumerate(sorted(self._tried)):
            name = title(self._requests[index])
            self._reporter.progress("try", 0.4 + 0.6 * number / len(self._tried), f"Timing {name}")
            yield from self._time(index)
            self._reporter.channel.send(self._tried.pop(index) | _of_rounds(self._rounds))

    def _peak(self) -> Steps:
        peak = 0
        for _ in range(_PEAK_STEPS):
            self._recorder.forget_freed()
            moment = self._recorder.moment()
            yield from self._step()
            peak = max(peak, *(most for _, most in self._recorder.alive_bytes([moment])))
        return peak - sum(self._kept_storages().values())

    def _compare_losses(self) -> Steps:
        """Takes the same few steps from the same state, with the same batches: without changes, and with each. Nothing
        is known where the losses of two unchanged runs differ, as where a script makes its own inputs."""
        start = _TrainingState.of(self._models, self._optimizers, self._memory_limit_bytes)
        if start is None:
            return
        with self._loaders.repeated() as batches:
            runs = []
            for _ in range(2):
                batches.restart()
                runs.append((yield from self._losses_from(start)))
            drift = largest_drift(runs)
            if drift is not None and drift <= _SAME_LOSSES:
                for index, message in self._tried.items():
                    self._switch_on(index)
                    batches.restart()
                    losses = yield from self._losses_from(start)
                    self._switch_off()
                    message["lossDrift"] = relative_drift(runs[0], losses)
        start.restore()
        yield from self._step()

    def _losses_from(self, start: _TrainingState) -> Steps:
        start.restore()
        means: list[float] = []
        for _ in range(_LOSS_STEPS):
            self._losses = []
            yield
            means += [sum(self._losses) / len(self._losses)] if self._losses else []
        self._losses = None
        return means

    def _time(self, index: int) -> Steps:
        """Rounds of both steps in turns, into self._rounds: nanoseconds."""
        self._rounds = ([], [])
        seconds = float(self._spec["seconds"])
        estimate = max(1, (yield from self._step()))
        count = max(1, min(_MOST_OF_ROUND, round(min(_ROUND_SECONDS, seconds / MOST_ROUNDS) * 1e9 / estimate)))
        begin = perf_counter()
        for number in range(MOST_ROUNDS):
            # Who goes first alternates: the second one finds the machine as the first one left it.
            for which in (0, 1) if number % 2 == 0 else (1, 0):
                self._index = index
                if which == 1:
                    self._changes[index].on()
                yield from self._step()  # untimed: the other side cooled the caches
                times = []
                for _ in range(count):
                    times.append((yield from self._step()))
                if which == 1:
                    self._changes[index].off()
                self._rounds[which].append(timing.median(times))
            ratios = [a / b for a, b in zip(*self._rounds, strict=True)]
            took = perf_counter() - begin
            is_certain = timing.relative_half_width(ratios) < WANTED_HALF_WIDTH if len(ratios) > 1 else False
            if number + 1 >= LEAST_ROUNDS and (took > seconds or is_certain):
                break
            if number + 1 >= _FEWEST_ROUNDS and took > 4 * seconds:
                break
        self._index = -1


def _of_rounds(rounds: tuple[list[float], list[float]]) -> dict[str, Any]:
    both = min(len(rounds[0]), len(rounds[1]))
    return {"unchangedNs": rounds[0][:both], "changedNs": rounds[1][:both]}


def _captured(index: int, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "captured", "change": index + 1, **message}


def _refused(index: int, reason: str) -> dict[str, Any]:
    return {"type": "tried", "change": index, "reason": reason}


class _TrainingState:
    """What training goes on from: weights, the state of optimizers and schedulers, and the random numbers to come."""

    def __init__(self, models: tuple[Any, ...], optimizers: list[Any]) -> None:
        self._tensors = [
            (tensor, tensor.detach().clone()) for model in models for tensor in (*model.parameters(), *model.buffers())
        ]
        self._optimizers = [(optimizer, copy.deepcopy(optimizer.state_dict())) for optimizer in optimizers]
        self._schedulers = [(one, copy.deepcopy(one.state_dict())) for one in _schedulers_of(optimizers)]
        self._random = _random_states()

    @classmethod
    def of(cls, models: tuple[Any, ...], optimizers: list[Any], memory_limit_bytes: int) -> _TrainingState | None:
        """None where there is no memory for it, or a part of it cannot be copied."""
        import torch

        kept = [t for model in models for t in (*model.parameters(), *model.buffers())]
        states = [s for o in optimizers for state in o.state.values() for s in state.values()]
        kept += [s for s in states if isinstance(s, torch.Tensor)]
        if not has_memory(memory_limit_bytes, 2 * sum(t.numel() * t.element_size() for t in kept)):
            return None
        try:
            return cls(models, optimizers)
        except Exception as error:  # noqa: BLE001 - tensors of any kind
            release(error)
            return None

    def restore(self) -> None:
        import torch

        with torch.no_grad():
            for tensor, value in self._tensors:
                tensor.copy_(value)
        for optimizer, state in self._optimizers:
            options = [{name: group.get(name) for name in ("foreach", "fused")} for group in optimizer.param_groups]
            optimizer.load_state_dict(copy.deepcopy(state))
            for group, own in zip(optimizer.param_groups, options, strict=True):
                group.update({name: value for name, value in own.items() if name in group})
        for scheduler, state in self._schedulers:
            scheduler.load_state_dict(copy.deepcopy(state))
        for set_state, state in self._random:
            set_state(state)


def _schedulers_of(optimizers: list[Any]) -> list[Any]:
    from torch.optim.lr_scheduler import LRScheduler

    found = [thing for thing in gc.get_objects() if issubclass(type(thing), LRScheduler)]
    return [one for one in found if any(one.optimizer is optimizer for optimizer in optimizers)]


def _random_states() -> list[tuple[Any, Any]]:
    """What sets the state of each generator of random numbers, and its state."""
    import torch

    states: list[tuple[Any, Any]] = [
        (torch.set_rng_state, torch.get_rng_state()),
        (random.setstate, random.getstate()),
    ]
    if torch.cuda.is_initialized():
        states.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
    if numpy := sys.modules.get("numpy"):
        states.append((numpy.random.set_state, numpy.random.get_state()))
    return states
