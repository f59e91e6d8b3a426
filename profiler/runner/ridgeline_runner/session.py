"""One profile: load, warm up, record, then time the bare step.

Recording comes first, with the allocator observed from before the model exists until the last recording ends, so that
every live block is known. The timed iterations come last, with nothing of ours attached, and the batch sizes take
turns, so that a machine that slows down slows them all.
"""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ridgeline_runner import cpu_for_cuda, timing
from ridgeline_runner.channel import Channel, ChannelClosed
from ridgeline_runner.entry import EntryPoint, load
from ridgeline_runner.failure import Failure, describe, is_out_of_memory
from ridgeline_runner.recorder import Recorder, Stage, name_compiled_kernels
from ridgeline_runner.sources import imported_files

_MAX_WARMUP = 20
_WARMUP_SECONDS = 5.0
_RECORDED_SECONDS = 1.0
_MIN_RECORDED, _MAX_RECORDED = 3, 30
_MIN_TIMED = 6
_SAMPLED_SIZES = 3
_WANTED_HALF_WIDTH = 0.01
_BURST_SECONDS = 0.05


@dataclass
class Sampled:
    """What one batch size gave."""

    batch_size: int
    warmup_iterations: int = 0
    times_ns: list[int] = field(default_factory=list)
    estimate_ns: int = 0


def run(spec: dict[str, Any], channel: Channel) -> int:
    """Profiles what `spec` describes and tells the daemon. Returns the exit code: 0, or 1 after a failure."""
    session = _Session(spec, channel)
    try:
        session.profile()
    except ChannelClosed:
        return 1
    except BaseException as error:  # noqa: BLE001 - whatever user code raises is an answer, SystemExit included
        try:
            channel.send(describe(error, session.stage, session.batch_size))
        except ChannelClosed:
            pass
        return 1
    return 0


class _Session:
    def __init__(self, spec: dict[str, Any], channel: Channel) -> None:
        self._spec = spec
        self._channel = channel
        self.stage = "load"
        self.batch_size: int | None = None

    def profile(self) -> None:
        import torch

        spec = self._spec
        if spec.get("device") == "cpu":
            cpu_for_cuda.install()
        agent = sys.modules["_ridgeline_agent"]
        recorder = Recorder(agent, spec["projectRoot"])
        if not recorder.track_memory():
            raise Failure("allocator", "LibTorch's CPU allocator cannot be observed: another tool has replaced it.")
        name_compiled_kernels()
        recorder.stage(Stage.LOAD)
        self._progress("load", 0.0, "Loading the entry point")
        entry = EntryPoint.of(load(spec["entry"], spec["projectRoot"]), spec["entry"])
        self._progress("model", 0.02, "Building the model")
        recorder.stage(Stage.MODEL)
        positional, keywords = entry.models()
        recorder.set_models(positional, keywords)
        recorder.stage(Stage.PREPARE)
        self.stage = "prepare"
        step = entry.iteration(positional, keywords)

        # The user's own batch size first: if that one fails, the profile fails.
        wanted = [size for size in dict.fromkeys(spec.get("batchSizes") or []) if size != entry.batch_size]
        candidates = [entry.batch_size, *(wanted or batch_size_candidates(entry.batch_size))]
        enough = len(candidates) if wanted else _SAMPLED_SIZES
        sampled: list[Sampled] = []
        skipped: list[dict[str, Any]] = []
        for size in candidates:
            if len(sampled) == enough:
                break
            done = min(1.0, len(sampled) / min(enough, _SAMPLED_SIZES))
            self._progress("record", 0.05 + 0.45 * done, f"Recording batch size {size}")
            try:
                sampled.append(self._record(recorder, entry, step, size, size == entry.batch_size))
            except Exception as error:
                if size == entry.batch_size:
                    raise
                skipped.append(self._skip(error, size))
        recorder.stop_tracking_memory()
        self._time(entry, step, sampled, skipped)
        files, complete = imported_files(spec["projectRoot"], spec["environmentRoots"], spec["entry"])
        self._channel.send(
            {
                "type": "result",
                "batchSize": entry.batch_size,
                "threads": torch.get_num_threads(),
                "inPlaceOf": cpu_for_cuda.in_place_of(),
                "warnings": cpu_for_cuda.warnings(),
                "samples": [
                    {
                        "batchSize": s.batch_size,
                        "warmupIterations": s.warmup_iterations,
                        "timesNs": s.times_ns,
                    }
                    for s in sampled
                ],
                "skipped": skipped,
                "importedFiles": files,
                "importedFilesComplete": complete,
            }
        )

    def _record(
        self, recorder: Recorder, entry: EntryPoint, step: Callable[..., Any], size: int, chosen: bool
    ) -> Sampled:
        self.batch_size = size
        self.stage = "input"
        recorder.stage(Stage.INPUT)
        inputs = entry.inputs(size)
        self.stage = "iteration"
        recorder.stage(Stage.ITERATION)
        sampled = Sampled(size)
        times = self._warm_up(step, inputs, recorder.forget_freed)
        sampled.warmup_iterations = len(times)
        sampled.estimate_ns = min(times)
        count = 1
        if chosen:
            wanted = math.ceil(_RECORDED_SECONDS * 1e9 / max(1, sampled.estimate_ns))
            count = min(_MAX_RECORDED, max(_MIN_RECORDED, wanted))
        recorder.record(step, inputs, count)
        if chosen:
            recorder.count(step, inputs, self._spec["environmentRoots"])
        self.stage = "report"
        recording = recorder.finish()
        self._channel.send({"type": "recording", "batchSize": size, "bytes": len(recording)})
        self._channel.send_bytes(recording)
        self.batch_size = None
        return sampled

    def _warm_up(self, step: Callable[..., Any], inputs: tuple[Any, ...], after_each: Callable[[], None]) -> list[int]:
        times: list[int] = []
        deadline = time.perf_counter() + _WARMUP_SECONDS
        while not timing.is_warm(times):
            start = time.perf_counter_ns()
            step(*inputs)
            times.append(time.perf_counter_ns() - start)
            after_each()
            if len(times) >= _MAX_WARMUP or (len(times) >= 2 and time.perf_counter() > deadline):
                break
        return times

    def _time(
        self,
        entry: EntryPoint,
        step: Callable[..., Any],
        sampled: list[Sampled],
        skipped: list[dict[str, Any]],
    ) -> None:
        """Times the bare step at every batch size, in turns, until the medians are known or the time is spent."""
        self.stage = "iteration"
        inputs = {s.batch_size: entry.inputs(s.batch_size) for s in sampled}
        gc.collect()
        budget = float(self._spec.get("timeBudgetSeconds", 10.0))
        deadline = time.perf_counter() + budget
        active = list(sampled)
        while active:
            for s in list(active):
                self.batch_size = s.batch_size
                try:
                    self._burst(step, inputs[s.batch_size], s)
                except Exception as error:
                    if s.batch_size == entry.batch_size or not is_out_of_memory(error):
                        raise
                    skipped.append(self._skip(error, s.batch_size))
                    sampled.remove(s)
                    active.remove(s)
            spent = 1 - (deadline - time.perf_counter()) / budget
            self._progress("time", 0.5 + 0.5 * min(1.0, spent), "Timing the bare step")
            enough = all(len(s.times_ns) >= _MIN_TIMED for s in sampled)
            if enough and time.perf_counter() > deadline:
                break
            active = [
                s
                for s in sampled
                if len(s.times_ns) < _MIN_TIMED or timing.relative_half_width(s.times_ns) > _WANTED_HALF_WIDTH
            ]
        self.batch_size = None

    def _burst(self, step: Callable[..., Any], inputs: tuple[Any, ...], sampled: Sampled) -> None:
        """Some iterations in a row. A short step runs once untimed first: the other batch sizes cooled the caches."""
        count = max(1, min(50, round(_BURST_SECONDS * 1e9 / max(1, sampled.estimate_ns))))
        if count > 1:
            step(*inputs)
        for _ in range(count):
            start = time.perf_counter_ns()
            step(*inputs)
            sampled.times_ns.append(time.perf_counter_ns() - start)

    def _skip(self, error: Exception, size: int) -> dict[str, Any]:
        """A batch size other than the user's that did not run is an observation."""
        described = describe(error, self.stage, size)
        described.pop("type")
        error.__traceback__ = None
        gc.collect()
        return described

    def _progress(self, stage: str, fraction: float, message: str) -> None:
        self.stage = stage
        self._channel.send({"type": "progress", "stage": stage, "fraction": fraction, "message": message})


def batch_size_candidates(chosen: int) -> list[int]:
    """Other batch sizes to try, until there are enough: half, twice, then what lies between and below."""
    sizes = [chosen // 2, chosen * 2, chosen * 3 // 2, chosen * 3 // 4, chosen // 4, chosen + 1, chosen + 2, chosen * 4]
    unique = dict.fromkeys(size for size in sizes if size >= 1 and size != chosen)
    return list(unique)
