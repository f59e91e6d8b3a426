"""Chrome traces as torch.profiler writes them on a GPU, made up, with what is true of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

BASE_US = 4461776200781.3  # as Kineto writes: microseconds since baseTimeNanoseconds
HOST = 4242
BACKWARD_THREAD = 4300


@dataclass
class Interval:
    start: float
    end: float
    line: str
    kernel: bool
    name: str


@dataclass
class GpuTrace:
    """Steps of a small network: `lines` forward lines launch kernels, backward launches for the same lines from another
    thread, and `.item()` waits. Times in microseconds from the first step's start."""

    seed: int = 1
    steps: int = 6
    layers: int = 12
    events: list[dict[str, Any]] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    step_spans: list[tuple[float, float]] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)
    works: list[tuple[float, float]] = field(default_factory=list)
    launches: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.correlation = 1
        self.external = 1
        self.sequence = 100
        self.device_free = 0.0
        now = 0.0
        for number in range(self.steps):
            now = self.step(number, now) + self.roll(5, 20)

    def roll(self, low: float, high: float) -> float:
        return round(self.random.uniform(low, high), 3)

    def add(self, category: str, name: str, start: float, end: float, tid: int = HOST, **args: Any) -> None:
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": 0 if category in {"kernel", "gpu_memcpy"} else HOST,
                "tid": tid,
                "ts": round(BASE_US + start, 3),
                "dur": round(end - start, 3),
                "args": args,
            }
        )

    def launch(self, name: str, now: float, line: str, *, tid: int = HOST, copy: bool = False) -> float:
        """A call of the runtime, and what it asks for on stream 7; the time after the call."""
        end = now + self.roll(3, 9)
        call = "cudaMemcpyAsync" if copy else "cudaLaunchKernel"
        self.add("cuda_runtime", call, now, end, tid, correlation=self.correlation)
        (self.waits if copy else self.works).append((now, end))
        start = max(self.device_free, end + self.roll(1, 4))
        self.device_free = start + self.roll(2, 60)
        category = "gpu_memcpy" if copy else "kernel"
        self.add(category, name, start, self.device_free, 7, correlation=self.correlation, device=0, stream=7)
        self.intervals.append(Interval(start, self.device_free, line, not copy, name))
        self.correlation += 1
        self.launches += 0 if copy else 1
        return end

    def op(self, name: str, start: float, end: float, tid: int = HOST, **args: Any) -> None:
        self.external += 1
        self.works.append((start, end))
        self.add("cpu_op", name, start, end, tid, **{"External id": self.external, **args})

    def step(self, number: int, start: float) -> float:
        now = start + 10
        self.launch("Memcpy HtoD (Pageable -> Device)", now + 1, "train.py:3", copy=True)
        now += 20
        first = self.sequence
        for layer in range(self.layers):
            begin = now
            now = self.launch(f"gemm_{layer % 3}", now + self.roll(1, 5), f"model.py:{10 + layer}") + 1
            self.op("aten::linear", begin, now, **{"Sequence number": self.sequence, "Fwd thread id": 0})
            self.add("python_function", f"model.py({10 + layer}): layer{layer}", begin - 0.5, now + 0.5)
            self.sequence += 1
            now += self.roll(1, 6)
        forward_end = now
        for layer in reversed(range(self.layers)):
            begin = now
            now = self.launch("gemm_backward", now + 3, f"model.py:{10 + layer}", tid=BACKWARD_THREAD) + 1
            node = {"Sequence number": first + layer, "Fwd thread id": 1}
            self.op("autograd::engine::evaluate_function: AddmmBackward0", begin, now, BACKWARD_THREAD, **node)
            self.op("AddmmBackward0", begin + 0.5, now - 0.25, BACKWARD_THREAD, **node)
            self.op("aten::mm", begin + 1, now - 0.5, BACKWARD_THREAD)
            now += self.roll(1, 6)
        begin = now
        until = max(now + 5, self.device_free + self.roll(1, 5))
        self.add("cuda_runtime", "cudaStreamSynchronize", begin + 1, until, correlation=self.correlation)
        self.correlation += 1
        self.waits.append((begin + 1, until))
        self.op("aten::item", begin, until + 1)
        self.works.remove((begin, until + 1))
        self.works += [(begin, begin + 1), (until, until + 1)]
        end = until + 20
        self.add("python_function", "train.py(3): step", start + 0.5, end - 0.5)
        self.add("python_function", "model.py(5): forward", start + 28, forward_end)
        self.add("user_annotation", f"ProfilerStep#{number + 3}", start, end)
        self.step_spans.append((start, end))
        return end

    def document(self) -> dict[str, Any]:
        properties = [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85_000_000_000}]
        return {
            "schemaVersion": 1,
            "deviceProperties": properties,
            "with_stack": 1,
            "baseTimeNanoseconds": 1790857026000000000,
            "displayTimeUnit": "ms",
            "traceEvents": self.events,
        }

    # ---- What is true of the steps whose durations lie in the middle third.

    def middle(self) -> list[tuple[float, float]]:
        by_length = sorted(self.step_spans, key=lambda span: span[1] - span[0])
        outside = len(by_length) // 3
        return sorted(by_length[outside : len(by_length) - outside])

    def truth(self) -> dict[str, Any]:
        """Per iteration, in milliseconds, worked out from boundary to boundary."""
        chosen = self.middle()
        lines: dict[str, float] = {}
        waits = dict.fromkeys(("deviceBound", "overlapped", "copy", "sync", "hostBound", "idle"), 0.0)
        busy = {"kernel": 0.0, "copy": 0.0}
        for start, end in chosen:
            edges = {start, end}
            for spans in ([(i.start, i.end) for i in self.intervals], self.waits, self.works):
                edges |= {time for span in spans for time in span if start < time < end}
            ordered = sorted(edges)
            for low, high in zip(ordered, ordered[1:], strict=False):
                middle = (low + high) / 2
                running = [i for i in self.intervals if i.start <= middle < i.end]
                kernels = [i for i in running if i.kernel]
                works = any(a <= middle < b for a, b in self.works)
                stuck = any(a <= middle < b for a, b in self.waits) and not self.others_work(middle)
                for interval in kernels or running:
                    lines[interval.line] = lines.get(interval.line, 0) + (high - low) / len(kernels or running)
                if kernels:
                    waits["deviceBound" if stuck else "overlapped"] += high - low
                elif running:
                    waits["copy"] += high - low
                else:
                    waits["sync" if stuck else "hostBound" if works else "idle"] += high - low
                if running:
                    busy["kernel" if kernels else "copy"] += high - low
        scale = 1 / 1000 / len(chosen)
        return {
            "lines": {line: time * scale for line, time in lines.items()},
            "waits": {name: time * scale for name, time in waits.items()},
            "kernelMs": busy["kernel"] * scale,
            "copyMs": busy["copy"] * scale,
        }

    def others_work(self, time: float) -> bool:
        """Whether a thread works while another waits: here nothing does."""
        return False

    def kernels(self) -> dict[str, dict[str, float]]:
        chosen = self.middle()
        table: dict[str, dict[str, float]] = {}
        for interval in self.intervals:
            if interval.kernel and any(start <= interval.start < end for start, end in chosen):
                row = table.setdefault(interval.name, {"launches": 0, "timeMs": 0, "maxMs": 0})
                row["launches"] += 1 / len(chosen)
                row["timeMs"] += (interval.end - interval.start) / 1000 / len(chosen)
                row["maxMs"] = max(row["maxMs"], (interval.end - interval.start) / 1000)
        return table
