"""The agent on a real GPU: its kernels against torch.profiler's, its peak against the caching allocator's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "profiler" / "runner"), str(ROOT / "tests" / "integration")]

from recordings import Recording
from ridgeline_runner import warm
from ridgeline_runner.devices import Device
from ridgeline_runner.recorder import Recorder, Stage

OUT = Path(os.environ["OUT"])
KERNEL = 0  # recording::Activity::kKernel
ITERATIONS = 10
TOLERANCE = 0.04
RESERVED_TOLERANCE = 0.05


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
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith(("Mem", "mem")):
            times[event.name] += round(event.time_range.elapsed_us() * 1000)
    return times


def reserved_checks() -> dict[str, bool]:
    """Reserved memory of an example on the device, predicted and real, at batch sizes that were not sampled."""
    entry = OUT / "on_device.py"
    example = ROOT / "examples" / "resnet50"
    entry.write_text(
        f"import sys, torch\nsys.path.insert(0, {str(example)!r})\nimport entry\n"
        "def model_provider(): return entry.model_provider().cuda()\n"
        "def input_provider(batch_size=32):\n"
        "    return tuple(t.cuda() for t in entry.input_provider(batch_size=batch_size))\n"
        "iteration_provider = entry.iteration_provider\n"
    )
    command = [ROOT / "build" / "bin" / "ridgeline", "profile", entry, "--python", sys.executable, "--format", "json"]
    done = subprocess.run([*command, "--check-sizes", "24,48,96"], capture_output=True, text=True, check=False)
    (OUT / "report.json").write_text(done.stdout or done.stderr)
    if done.returncode:
        return {f"the profile: {done.stderr}": False}
    report = json.loads(done.stdout)
    checks = {}
    for check in report["checks"]:
        real, predicted = check["peakReservedBytes"], check["predicted"]["reservedBytes"]
        check_name = f"reserved at {check['batchSize']}: {real}, predicted {predicted}"
        checks[check_name] = abs(predicted / real - 1) <= RESERVED_TOLERANCE
    return checks or {"no batch size was checked": False}


def main() -> int:
    found = sorted(Path(os.environ["RIDGELINE_CACHE"]).glob("agents/*/_ridgeline_agent.so"), key=os.path.getmtime)
    recorder = Recorder(warm.load_agent(str(found[-1])), str(ROOT))
    assert recorder.track_memory(of_devices=True)
    recorder.stage(Stage.MODEL)
    model, step = make_step()
    recorder.use_device(Device.of(recorder.set_models((model,), {})))
    recorder.stage(Stage.ITERATION)
    for _ in range(5):
        step()
        recorder.forget_freed()
    torch.cuda.synchronize()
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
        **reserved_checks(),
    }
    for name, passed in checks.items():
        print("passed" if passed else "FAILED", name)
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
