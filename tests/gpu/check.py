"""The agent on a real GPU: its kernels against torch.profiler's, its peak against the caching allocator's."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "profiler" / "runner"), str(ROOT / "tests" / "integration")]

from checks import show
from recordings import Recording
from ridgeline_runner.machine import interpreter
from ridgeline_runner.machine.devices import Device
from ridgeline_runner.step.recorder import Recorder, Stage

OUT = Path(os.environ["OUT"])
KERNEL = 0  # recording::Activity::kKernel
ITERATIONS = 10
LAUNCHES = 500
TOLERANCE = 0.04


def make_step() -> tuple[torch.nn.Module, Any]:
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)], torch.nn.LayerNorm(2048)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(512, 2048, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return model, step


def peak_of(recording: Recording) -> int:
    """The largest sum of live bytes from the first iteration on."""
    live: dict[int, int] = {}
    total = peak = 0
    for time, address, size in zip(
        recording.memory_time, recording.memory_address, recording.memory_bytes, strict=True
    ):
        total += size - live.pop(address, 0)
        if size:
            live[address] = size
        if time >= recording.iteration_start[0]:
            peak = max(peak, total)
    return peak


def kernels_of_torch(step: Any) -> Counter[str]:
    """Kernel → nanoseconds of ITERATIONS iterations, as torch.profiler sees them."""
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(ITERATIONS):
            step()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(OUT / "torch_profiler.json.gz"))
    times: Counter[str] = Counter()
    with gzip.open(OUT / "torch_profiler.json.gz") as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("cat") == "kernel":
                times[event["name"]] += round(event["dur"] * 1000)
    return times


def milliseconds(step: Any) -> float:
    """The time of one of ITERATIONS iterations, with nothing attached."""
    torch.cuda.synchronize()
    start = perf_counter()
    for _ in range(ITERATIONS):
        step()
        torch.cuda.synchronize()
    return (perf_counter() - start) * 1e3 / ITERATIONS


def launches() -> None:
    """LAUNCHES kernels as small as there are: what recording costs is the time between them."""
    x = torch.ones(64, device="cuda")
    for _ in range(LAUNCHES):
        x.zero_()
    torch.cuda.synchronize()


def microseconds_per_launch(times_ns: list[int]) -> float:
    return min(times_ns) / 1e3 / LAUNCHES


def bare_times() -> list[int]:
    times = []
    for _ in range(5):
        start = perf_counter_ns()
        launches()
        times.append(perf_counter_ns() - start)
    return times


def main() -> int:
    found = sorted(Path(os.environ["RIDGELINE_CACHE"]).glob("agents/*/_ridgeline_agent.so"), key=os.path.getmtime)
    recorder = Recorder(interpreter.load_agent(str(found[-1])), str(ROOT))
    assert recorder.track_memory(of_devices=True)
    bare_launch = microseconds_per_launch(bare_times())
    without_device = microseconds_per_launch(recorder.record(launches, (), 5))
    recorder.stage(Stage.MODEL)
    model, step = make_step()
    recorder.use_device(Device.of(recorder.set_models((model,), {})))
    recorder.stage(Stage.ITERATION)
    for _ in range(5):
        step()
        recorder.forget_freed()
    with_device = microseconds_per_launch(recorder.record(launches, (), 5))
    print(f"a launch: {bare_launch:.2f} us, recorded {without_device:.2f}, and by CUPTI {with_device:.2f}")
    bare = milliseconds(step)
    torch.cuda.reset_peak_memory_stats()
    recorder.record(step, (), ITERATIONS)
    most = torch.cuda.max_memory_allocated()
    data = recorder.finish()
    (OUT / "recording.bin").write_bytes(data)
    recorder.detach()
    recording = Recording(data)

    ours: Counter[str] = Counter()
    rows = zip(
        recording.activity_kind, recording.activity_name, recording.activity_start, recording.activity_end, strict=True
    )
    for kind, name, start, end in rows:
        if kind == KERNEL:
            ours[recording.string(name)] += end - start
    theirs = kernels_of_torch(step)
    times = (sum(ours.values()), sum(theirs.values()))
    unknown = sum(call == 0xFFFFFFFF for call in recording.activity_call)
    requested = [r for size, r in zip(recording.memory_bytes, recording.memory_requested, strict=True) if size]
    checks = {
        f"requests are known of {sum(map(bool, requested))} of {len(requested)} blocks": bool(requested)
        and all(requested),
        f"the first iteration was kept: {len(recording.first_time)} events": bool(recording.first_time),
        f"no warnings: {recorder.warnings()}": not recorder.warnings(),
        f"nothing is lost: {recording.loss}": not any(recording.loss),
        f"every activity has its call: {unknown} have none": bool(recording.activity_call) and not unknown,
        f"time of kernels: {times[0]} ns, torch.profiler {times[1]} ns": abs(times[0] / times[1] - 1) <= TOLERANCE,
        f"peak: {peak_of(recording)} bytes, max_memory_allocated {most}": peak_of(recording) == most,
    }
    spans = zip(recording.iteration_start, recording.iteration_end, strict=True)
    recorded = sum(end - start for start, end in spans) / ITERATIONS / 1e6
    print(f"an iteration takes {bare:.3f} ms, recorded {recorded:.3f}, detached again {milliseconds(step):.3f}")
    return show(checks)


if __name__ == "__main__":
    sys.exit(main())
