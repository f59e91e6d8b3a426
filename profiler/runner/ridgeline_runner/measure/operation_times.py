"""The time of operations alone: each made from its key and run again and again, in turns with the others.

One sample is (T_M - T_N) / (M - N), the times of two loops of M and N calls (Tianshu, section 4.1): what a loop costs
once does not count. N is 0: on the host, an empty loop is as good as free. On a CUDA device, its own clock takes the
time between the first call and the last one, all of which were launched before the first began: what the host takes to
launch them is not in it. Nothing of the user's runs here.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import resource
from collections.abc import Callable, Iterable
from time import perf_counter, perf_counter_ns
from typing import Any

from ridgeline_runner.common import timing
from ridgeline_runner.common.failure import safe_text
from ridgeline_runner.measure.operation_key import Call, bytes_of

_SAMPLES = 9
_MOST_SAMPLES = 45  # of a fast operation that other processes disturb
_MOST_DISTURBED_NS = 45_000_000  # of the loops of one operation, beyond _SAMPLES of them
_LEAST_SAMPLES = 3
_PREEMPTED_PER_SECOND = 20  # by the system's own work; more means that other processes want the processors
_SAMPLE_NS = 1_000_000  # a loop of fast operations is this long
_MOST_CALLS = 200
_MOST_LAUNCHED = 100  # on a device: of some kernels each, and about a thousand can wait there
_HOLD_CYCLES_A_NS = 3  # that a device waits for each ns of launching: more than its clock has, for a slower launch
_MOST_HOLD_NS = 50_000_000
_MOST_OF_MEMORY = 0.25  # that the data of one operation may take
_TOGETHER_BYTES = 1 << 30  # of the operations that are timed in turns
_TOGETHER = 32
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGEST_IN_HEAP = 32 << 20  # the most that mallopt(3) takes

# Their arguments hold memory that only the forward operation can fill: other data there may crash the process.
_OPAQUE = (
    "miopen_rnn",
    "_thnn_",
    "_cudnn_",
    "workspace",
)


def measure(
    keys: list[str],
    memory_bytes: int,
    seconds: float,
    *,
    begin: Callable[[int], None],
    send: Callable[[int, dict[str, Any]], None],
    peak_of: Callable[[Callable[[], Any]], int] | None = None,
) -> None:
    """Times each operation of `keys` and sends it by its index: `{"samplesNs": [...], "disturbed": bool}` or
    `{"reason": ...}`. Disturbed: other processes took the processors away too often for a time of the operation alone.

    `peak_of`: the most bytes that a call allocated at once, its results with it, of an operation of the host; then
    operations are sent with `"peakBytes"`.
    `begin` is called before an operation runs for the first time: should it end the process, that one did.
    `seconds` bounds the whole: when they are over, the rest is sent with a reason.
    """
    import torch

    torch.set_flush_denormal(True)
    _keep_freed_memory()
    deadline = perf_counter() + seconds
    with torch.no_grad():
        for group in _groups(keys, memory_bytes, send):
            if perf_counter() > deadline:
                for index in group:
                    send(index, {"reason": "there was no time left"})
                continue
            _measure_together({index: keys[index] for index in group}, deadline, begin, send, peak_of)
            gc.collect()


def _keep_freed_memory() -> None:
    """For the rest of this process. Else an output that lies at the end of the heap is given back to the system after
    each call, and its pages are faulted in again: half of the time of a product, or nothing, as its data happens to
    lie."""
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_IN_HEAP)


def _groups(keys: list[str], memory_bytes: int, send: Callable[[int, dict[str, Any]], None]) -> Iterable[list[int]]:
    """Operations that are timed in turns: their data is alive at the same time."""
    most = memory_bytes * _MOST_OF_MEMORY if memory_bytes else float("inf")
    group: list[int] = []
    together = 0
    for index, key in enumerate(keys):
        name = key[2 : key.find('"', 2)]
        if any(part in name for part in _OPAQUE):
            send(index, {"reason": "it works on memory of its own that its forward operation fills"})
            continue
        size = bytes_of(key)
        if 2 * size > most:
            send(index, {"reason": "its data takes too much memory"})
            continue
        if group and (len(group) >= _TOGETHER or together + size > min(most, _TOGETHER_BYTES)):
            yield group
            group, together = [], 0
        group.append(index)
        together += size
    if group:
        yield group


class _Timed:
    """One operation, ready to run, and its samples."""

    def __init__(self, key: str, peak_of: Callable[[Callable[[], Any]], int] | None) -> None:
        self.call = Call(key)
        self.call.run()
        on_host = self.call.device == "cpu"
        self._loop = _loop_on_host if on_host else _LoopOnDevice(self.call.run)
        peak_of = peak_of if on_host or peak_of is None else _peak_on_device
        self._memory = {} if peak_of is None else {"peakBytes": peak_of(self.call.run)}
        once = min(self._loop(self.call.run, 1), self._loop(self.call.run, 1))
        self.calls = max(1, min(_MOST_CALLS if on_host else _MOST_LAUNCHED, round(_SAMPLE_NS / max(1, once))))
        self.samples: list[float] = []
        self._disturbed: list[float] = []
        self._spent_ns = 0

    def sample(self) -> None:
        preempted = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        ns = self._loop(self.call.run, self.calls)
        preempted = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - preempted
        self._spent_ns += ns
        quiet = preempted <= _PREEMPTED_PER_SECOND * ns / 1e9  # never in a short loop
        (self.samples if quiet else self._disturbed).append(max(1.0, ns / self.calls))

    def needs_sample(self, number: int) -> bool:
        """Whether a sample is worth its time after `number` of them, the disturbed ones with them."""
        if len(self.samples) < _LEAST_SAMPLES:
            return number < _SAMPLES or self._spent_ns < _MOST_DISTURBED_NS
        agree = max(self.samples) - min(self.samples) < 0.04 * timing.median(self.samples)
        return number < _SAMPLES and not agree

    def result(self) -> dict[str, Any]:
        disturbed = len(self.samples) < _LEAST_SAMPLES
        # What disturbs only ever adds: of too few quiet samples, the fastest of all are nearest.
        samples = sorted(self.samples + self._disturbed)[:_LEAST_SAMPLES] if disturbed else self.samples
        return {"samplesNs": samples, "disturbed": disturbed, **self._memory}


def _loop_on_host(run: Callable[[], Any], count: int) -> int:
    start = perf_counter_ns()
    for _ in range(count):
        run()
    return perf_counter_ns() - start


class _LoopOnDevice:
    """Nanoseconds of so many calls on the current CUDA device, which does not wait for the host meanwhile."""

    def __init__(self, run: Callable[[], Any]) -> None:
        import torch

        self._cuda = torch.cuda
        torch.cuda.synchronize()
        self._launch_ns = min(_loop_on_host(run, 1) for _ in range(3))
        torch.cuda.synchronize()

    def __call__(self, run: Callable[[], Any], count: int) -> int:
        start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))
        self._cuda._sleep(_HOLD_CYCLES_A_NS * min(count * self._launch_ns, _MOST_HOLD_NS))
        start.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return round(start.elapsed_time(end) * 1e6)


def _peak_on_device(run: Callable[[], Any]) -> int:
    """Bytes that a call allocated at once on the current CUDA device, its results with them."""
    import torch

    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    return torch.cuda.max_memory_allocated() - before


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {safe_text(error)}".splitlines()[0][:200]


def _measure_together(
    keys: dict[int, str],
    deadline: float,
    begin: Callable[[int], None],
    send: Callable[[int, dict[str, Any]], None],
    peak_of: Callable[[Callable[[], Any]], int] | None,
) -> None:
    timed: dict[int, _Timed] = {}
    for index, key in keys.items():
        begin(index)
        try:
            timed[index] = _Timed(key, peak_of)
        except Exception as error:  # noqa: BLE001 - whatever torch does with data of ours
            send(index, {"reason": _reason(error)})
    for number in range(_MOST_SAMPLES):
        for index in [i for i, t in timed.items() if t.needs_sample(number)]:
            try:
                timed[index].sample()
            except Exception as error:  # noqa: BLE001
                del timed[index]
                send(index, {"reason": _reason(error)})
        if number + 1 >= _LEAST_SAMPLES and perf_counter() > deadline:
            break
    for index, one in timed.items():
        send(index, one.result())
