"""What a what-if answer needs of the interpreter: the operations of changed steps, the times of operations alone, and
changed steps timed in turns with the unchanged one. Each is a run of its own."""

from __future__ import annotations

import contextlib
import gc
import itertools
from collections.abc import Callable
from time import perf_counter  # before user code can replace it
from typing import Any, cast

from ridgeline_runner.changes import built_in, replica, trial
from ridgeline_runner.changes.change import NotApplicable, Way, title
from ridgeline_runner.changes.trial import SEED
from ridgeline_runner.common.channel import Channel, ChannelClosed
from ridgeline_runner.common.failure import reason_of, release
from ridgeline_runner.cuda import operators
from ridgeline_runner.measure import operation_times
from ridgeline_runner.step import operation_log
from ridgeline_runner.step.entry import EntryPoint, load_entry_point
from ridgeline_runner.step.fresh_process import FreshProcesses, ProcessFailed, has_memory
from ridgeline_runner.step.recorder import Recorder
from ridgeline_runner.step.reporter import Reporter

_KEPT_BYTES = 64 << 20  # that glibc's heap keeps at its end, at most (mallopt(3), M_TRIM_THRESHOLD)
_NOT_LISTED = {"compile", "threads"}  # what these make of operations, or of their times, is not known before they run


def capture(spec: dict[str, Any], reporter: Reporter, recorder: Recorder, entry: EntryPoint) -> None:
    """Sends the operations of the unchanged step and of each changed one, and what memory they need. Nothing large is
    computed. `spec["forCuda"]`: with the operators of a CUDA device also where the step is on the host; then with the
    requests of memory too."""
    requests: list[list[str]] = [[], *spec["changes"]]
    page_faults = _PageFaults(entry, reporter.channel, 0 if spec["forCuda"] else spec["memoryLimitBytes"])
    with contextlib.closing(page_faults):
        for index, request in enumerate(requests):
            reporter.progress("capture", index / len(requests), f"Listing the operations of {title(request)}")
            message: dict[str, Any] = {"type": "captured", "change": index}
            try:
                message |= _captured(entry, request, recorder, page_faults, for_cuda=spec["forCuda"])
            except NotApplicable as reason:
                message["reason"] = str(reason)
            except ChannelClosed:
                raise
            except BaseException as error:
                if not request:
                    raise
                message["reason"] = reason_of(error)
                release(error)
            reporter.channel.send(message)
            gc.collect()


def _captured(
    entry: EntryPoint, request: list[str], recorder: Recorder, page_faults: _PageFaults, *, for_cuda: bool
) -> dict[str, Any]:
    began = perf_counter()
    way = Way.LISTED_FOR_CUDA if for_cuda else Way.LISTED
    parts, device, begin = trial.build_observed(entry, request, recorder, way)
    if _NOT_LISTED & {name.partition(":")[0] for name in request}:
        return {"operations": None}
    names = {id(module): name for model in parts.models for name, module in model.named_modules()}
    moments = [begin]

    def step() -> None:
        parts.function(*parts.inputs)

    with parts.surroundings(), operators.chosen() if for_cuda else contextlib.nullcontext():
        log = operation_log.log_step(step, names, lambda: moments.append(recorder.moment()))
        (before, _), *seen = recorder.alive_bytes(moments)
        alive = [(at - before, most - before) for at, most in seen]
        requests = list[int]()
        if for_cuda and device.is_host:
            operation_log.run_uncomputed(step)  # for the third time: what was freed at first has its place by then
            requests = recorder.requests_since(begin)
        host = operation_log.host_times(step, len(log.sequence))
    seconds = perf_counter() - began
    return {
        "operations": log.message(),
        "requests": requests,
        **log.memory(alive),
        "aliveBefore": [max(0, at) for at, _ in alive[1:]],
        "changedModules": [names[id(module)] for module in parts.changed_modules],
        "hostNs": host,
        "pageFaultNs": page_faults.of(request, len(log.sequence), alive, seconds) if device.is_host else [],
        "batchSize": parts.samples,
    }


class _PageFaults:
    """What page faults take in steps on the host, each in a process of its own: in this one the heap keeps what the
    steps before have freed. To be made before the first step, with the entry file loaded, once for all of them."""

    def __init__(self, entry: EntryPoint, channel: Channel, memory_limit_bytes: int) -> None:
        """`memory_limit_bytes`: 0: nothing is observed."""
        self._memory_limit_bytes = memory_limit_bytes
        self._processes = FreshProcesses(lambda request: _page_faults(entry, request), channel)
        self._processes.settle()

    def of(
        self, request: list[str], operations: int, alive: list[tuple[int, int]], listing_seconds: float
    ) -> list[int]:
        """Nanoseconds of each operation of the changed step, on as many threads as compute it. Empty where the step
        gets so little that the heap keeps it, where it might not have the memory, and once a process failed.
        `alive`: as of OperationLog.memory()."""
        peak = max(most for _, most in alive)
        if peak - min(at for at, _ in alive) <= _KEPT_BYTES or self._memory_limit_bytes <= 0:
            return []
        if not has_memory(self._memory_limit_bytes, peak):
            return []
        asked = {"change": request, "operations": operations}
        try:
            return cast("list[int]", self._processes.run(asked, 2 * listing_seconds)["pageFaultNs"])
        except ProcessFailed:
            self._memory_limit_bytes = 0  # the next one would wait as long
            return []

    def close(self) -> None:
        self._processes.close()


def _page_faults(entry: EntryPoint, request: dict[str, Any]) -> dict[str, Any]:
    """In a process that has run no step."""
    import torch

    trial.set_seed(SEED)
    parts = built_in.build(entry, request["change"], entry.batch_size, Way.LISTED)

    def step() -> None:
        parts.function(*parts.inputs)

    with parts.surroundings():
        operation_log.run_uncomputed(step)  # creates the optimizer's state
        times = operation_log.page_fault_times(step, request["operations"])
    return {"pageFaultNs": [ns // torch.get_num_threads() for ns in times]}


def measure(spec: dict[str, Any], reporter: Reporter, recorder: Recorder) -> None:
    """Sends the time and the memory of each operation of the spec. Runs nothing of the user's."""
    keys: list[str] = spec["operations"]
    done = itertools.count(1)

    def send(index: int, result: dict[str, Any]) -> None:
        reporter.channel.send({"type": "operationTime", "operation": index, **result})
        number = next(done)
        if number % 16 == 0:
            reporter.progress("measure", number / len(keys), f"Timing operations: {number} of {len(keys)}")

    def begin(index: int) -> None:
        reporter.channel.send({"type": "operationBegins", "operation": index})

    def peak_of(run: Callable[[], Any]) -> int:
        recorder.track_memory()
        try:
            recorder.forget_freed()
            moment = recorder.moment()
            run()
            ((before, most),) = recorder.alive_bytes([moment])
        finally:
            recorder.detach()
        return most - before

    reporter.progress("measure", 0.0, f"Timing {len(keys)} operations")
    recorder.detach()  # it takes time
    seconds = float(spec["seconds"])
    operation_times.measure(keys, int(spec["memoryLimitBytes"]), seconds, begin=begin, send=send, peak_of=peak_of)


def run(spec: dict[str, Any], reporter: Reporter, recorder: Recorder, processes: FreshProcesses | None) -> None:
    """`spec["experiment"]` is what to do: capture, measure, try or replica. `processes`: of try, which answer with
    time_apart()."""
    experiment = {**spec["experiment"], "memoryLimitBytes": spec.get("memoryLimitBytes", 0)}
    kind = experiment["kind"]
    if kind == "measure":
        measure(experiment, reporter, recorder)
    elif kind == "replica":
        replica.run(experiment, spec, reporter, recorder)
    else:
        reporter.progress("load", 0.0, "Loading the entry point")
        entry = load_entry_point(spec)
        if processes is None:
            capture(experiment, reporter, recorder, entry)
        else:
            trial.attempt(experiment, reporter, recorder, entry, processes)
            processes.close()
    import torch

    uses_cuda = spec.get("device") != "cpu" and torch.cuda.is_initialized()
    reporter.channel.send(
        {
            "type": "experimentEnded",
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "cudaDevice": torch.cuda.get_device_name() if uses_cuda else "",
        }
    )
