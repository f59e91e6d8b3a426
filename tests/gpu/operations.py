"""Times of operations, predicted steps and energy on a real GPU, beside what the steps really take there.

    OUT=FOLDER RIDGELINE_CACHE=FOLDER python tests/gpu/operations.py

needs build/bin/ridgeline, and an interpreter whose torch has CUDA. Writes operations.json and operations.sqlite, the
times, to OUT, after each part what is known by then; Markdown to standard output. Each part has a limit of its own, and
what needs a GPU most comes first. `--device cpu` rehearses it without a GPU.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("RIDGELINE_BINARY", str(ROOT / "build" / "bin" / "ridgeline"))
sys.path += [str(ROOT / "profiler" / "runner"), str(ROOT / "tests" / "bench")]

CASES = {"resnet50": 32, "bert": 16, "gpt": 16, "mlp": 512, "vgg11": 32}  # batch sizes
LARGER = (1, 2, 4, 8)
WITH_ENERGY = "resnet50"
ENTRY = """import sys

sys.path.insert(0, {folder!r})
import entry

model_provider, iteration_provider = entry.model_provider, entry.iteration_provider


def input_provider(batch_size={batch_size}):
    return entry.input_provider(batch_size=batch_size)
"""


class Check:
    """The whole: what it has found, and how long it may still take."""

    def __init__(self, kind: str, cases: dict[str, int], seconds: float, folder: Path, out: Path) -> None:
        self.kind, self.cases, self.folder, self.out = kind, cases, folder, out
        self._end_of_all = self._end = perf_counter() + seconds
        self.found: dict[str, Any] = {"cases": cases, "problems": {}, "seconds": {}}
        self.cache = folder / "cache"
        agents = Path(os.environ["RIDGELINE_CACHE"]) / "agents"
        shutil.copytree(agents, self.cache / "agents") if agents.exists() else self.cache.mkdir()
        for name, batch_size in cases.items():
            example = str(ROOT / "examples" / name)
            self.entry(name).write_text(ENTRY.format(folder=example, batch_size=batch_size), "utf-8")

    def entry(self, name: str) -> Path:
        return self.folder / f"step_of_{name}.py"

    def part(self, name: str, seconds: float, make: Callable[[], Any]) -> None:
        """At most so many seconds. One that fails leaves its reason, and the others go on."""
        begin = perf_counter()
        self._end = min(self._end_of_all, begin + seconds)
        if self._end < begin + 1:
            self.found["problems"][name] = "there was no time left"
            return
        try:
            self.found[name] = make()
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            self.found["problems"][name] = f"{type(error).__name__}: {error}"[:2000]
        self.found["seconds"][name] = perf_counter() - begin
        (self.out / "operations.json").write_text(json.dumps(self.found), "utf-8")

    def run(self, *command: str | Path, on_cpu: bool = False) -> str:
        environment = {**os.environ, "RIDGELINE_CACHE": str(self.cache)}
        if on_cpu:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        done = subprocess.run(
            [str(one) for one in command],
            capture_output=True,
            text=True,
            check=False,
            timeout=max(1.0, self._end - perf_counter()),
            env=environment,
            cwd=self.folder,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[1:3]}: {done.stderr[-1500:]}")
        return done.stdout

    def ridgeline(self, *command: str | Path, on_cpu: bool = False) -> str:
        return self.run(BINARY, *command, on_cpu=on_cpu)

    def of_cases(self, of_one: functools.partial[Any], kinds: list[bool]) -> dict[str, Any]:
        """`of_one(name, on_cpu)` of all cases at once, by "name, cpu" and "name, cuda"; None where it fails."""

        def tried(name: str, on_cpu: bool) -> Any:
            try:
                return of_one(name, on_cpu)
            except Exception as error:  # noqa: BLE001
                self.found["problems"][f"{of_one.func.__name__} {name}"] = str(error)[:2000]
                return None

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            waiting = {
                f"{name}, {'cpu' if on_cpu else 'cuda'}": pool.submit(tried, name, on_cpu)
                for name in self.cases
                for on_cpu in kinds
            }
            return {name: one.result() for name, one in waiting.items()}


def device_of(kind: str) -> str:
    from ridgeline_runner.measure import measure_elsewhere

    return measure_elsewhere.device_name(kind)


def predicted(check: Check, device: str, kinds: list[bool]) -> dict[str, Any]:
    return check.of_cases(functools.partial(predict, check, device), kinds)


def predict(check: Check, device: str, name: str, on_cpu: bool) -> Any:
    answer = json.loads(
        check.ridgeline("devices", check.entry(name), "--on", device, "--python", sys.executable, "--format",
                        "json", on_cpu=on_cpu)
    )  # fmt: skip
    return answer["devices"][0]["steps"]


def measure(check: Check, seconds: float) -> dict[str, Any]:
    """Times what the real steps ran by the script's own program, in one process, and imports it."""
    steps = check.found.get("steps") or {}
    keys = list(dict.fromkeys(key for one in steps.values() for key in one.get("listed", {})))
    plan_file, times = check.folder / "plan.json", check.folder / "times.csv"
    plan_file.write_text(json.dumps({"keys": keys, "seconds": seconds}), "utf-8")
    program = (
        f"import json, sys; sys.path.insert(0, {str(ROOT / 'profiler' / 'runner')!r}); "
        "from ridgeline_runner.measure.measure_elsewhere import main; "
        f"sys.exit(main(json.load(open({str(plan_file)!r}))))"
    )
    check.run(sys.executable, "-c", program, "--device", check.kind, "--output", times)
    rows = list(csv.DictReader(times.open(encoding="utf-8")))
    imported = check.ridgeline("operations", "import", times, "--format", "operations")
    check.ridgeline("operations", "export", check.folder / "operations.sqlite")
    shutil.copy(check.folder / "operations.sqlite", check.out)
    spreads = [(float(row["high"]) - float(row["low"])) / float(row["time_ns"]) for row in rows]
    return {
        "operations": len(keys),
        "measured": len(rows),
        "medianSpread": median(spreads) if spreads else None,
        "imported": imported,
    }


def script(check: Check, name: str) -> dict[str, Any]:
    """The file that `operations plan --script` writes, as somebody without Ridgeline would run it: for a GPU of which
    nothing is known."""
    file, times = check.folder / "measure.py", check.folder / "times_of_script.csv"
    check.ridgeline("operations", "plan", check.entry(name), "--device", "T4", "--python", sys.executable, "--script",
                    file, on_cpu=True)  # fmt: skip
    check.run(sys.executable, file, "--device", check.kind, "--output", times, "--seconds", "3")
    return {"rows": len(times.read_text("utf-8").splitlines()) - 1}


class Step:
    """An example's training step on a device, at any batch size."""

    def __init__(self, file: Path, kind: str) -> None:
        examples = str(ROOT / "examples")
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(examples):
                del sys.modules[name]
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        self._entry = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._entry)
        self._kind = kind
        self._iteration = self._entry.iteration_provider(self._entry.model_provider().to(kind))

    def at(self, batch_size: int) -> Callable[[], None]:
        inputs = [one.to(self._kind) for one in self._entry.input_provider(batch_size=batch_size)]
        return lambda: self._iteration(*inputs)


def step_times(step: Callable[[], None], kind: str, seconds: float) -> dict[str, Any]:
    """Milliseconds of an iteration by the device's clock, and of launching it."""
    import torch

    for _ in range(4 if kind == "cuda" else 1):
        step()
    if kind == "cpu":
        begin = perf_counter()
        step()
        return {"ms": [(perf_counter() - begin) * 1e3], "hostMs": None}
    torch.cuda.synchronize()
    events = [torch.cuda.Event(enable_timing=True)]
    events[0].record()
    begin = perf_counter()
    while perf_counter() < begin + seconds and len(events) < 200:
        step()
        events.append(torch.cuda.Event(enable_timing=True))
        events[-1].record()
        if len(events) % 10 == 0:
            events[-10].synchronize()  # else the host is far ahead
    torch.cuda.synchronize()
    return {"ms": [one.elapsed_time(other) for one, other in zip(events, events[1:], strict=False)]}


def host_ms(step: Callable[[], None]) -> float:
    """What the host takes to launch an iteration, with a device that is busy meanwhile."""
    import torch

    took = []
    for _ in range(3):
        torch.cuda.synchronize()
        torch.cuda._sleep(200_000_000)
        begin = perf_counter()
        step()
        took.append((perf_counter() - begin) * 1e3)
    torch.cuda.synchronize()
    return median(took)


def kernels(step: Callable[[], None], iterations: int = 2) -> dict[str, Any]:
    """Milliseconds of kernels in an iteration, and by operator."""
    import torch

    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profiler:
        for _ in range(iterations):
            step()
        torch.cuda.synchronize()
    of_kernels = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    by_operator = {
        event.key: [event.count / iterations, event.self_device_time_total / iterations]
        for event in profiler.key_averages()
        if event.self_device_time_total > 0 and event.key.startswith("aten::")
    }
    return {
        "ms": sum(event.time_range.elapsed_us() for event in of_kernels) / 1e3 / iterations,
        "count": len(of_kernels) / iterations,
        "microsecondsByOperator": by_operator,
    }


def listed(step: Callable[[], None]) -> dict[str, int]:
    """The operations that the step really runs there, and how often."""
    from ridgeline_runner.step import operation_log

    log = operation_log.log_warm_step(step, lambda: None)
    names = list(log.keys)
    return dict(Counter(names[key] for key, *_ in log.sequence if key >= 0))


def steps_of(name: str, file: Path, batch_size: int, kind: str, seconds: float) -> dict[str, Any]:
    import torch

    step = Step(file, kind)
    found: dict[str, Any] = {"sizes": {}}
    for times in LARGER if kind == "cuda" else LARGER[:1]:
        size = batch_size * times
        try:
            at = step.at(size)
            one = step_times(at, kind, seconds)
            if kind == "cuda":
                one["hostMs"] = host_ms(at)
            if kind == "cuda" and times in (LARGER[0], LARGER[-1]):
                one["kernels"] = kernels(at)
            found["sizes"][size] = one
        except torch.cuda.OutOfMemoryError:
            found["sizes"][size] = {"problem": "out of memory"}
            break
    found["listed"] = listed(step.at(batch_size))
    return found


def steps_main(folder: Path, kind: str, cases: dict[str, int], seconds: float) -> None:
    """A process of its own: a CUDA error ends it."""
    found: dict[str, Any] = {}
    for name, batch_size in cases.items():
        try:
            found[name] = steps_of(name, folder / f"step_of_{name}.py", batch_size, kind, seconds)
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            found[name] = {"problem": f"{type(error).__name__}: {error}"[:1000], "sizes": {}}
        (folder / "steps.json").write_text(json.dumps(found), "utf-8")


def real_steps(check: Check) -> Any:
    """Those that were measured when the time was over."""
    cases = ",".join(check.cases)
    try:
        check.run(sys.executable, __file__, "--steps", check.folder, "--device", check.kind, "--cases", cases)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        check.found["problems"]["steps"] = str(error)[:2000]
    return json.loads((check.folder / "steps.json").read_text("utf-8"))


def counted_by_nvml(file: Path, batch_size: int, seconds: float) -> dict[str, Any]:
    """The step's joules by the driver's counter, read here."""
    import torch

    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    handle, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
    if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)):
        raise RuntimeError("NVML does not know the device")

    def read() -> float:
        torch.cuda.synchronize()
        if status := nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(millijoules)):
            raise RuntimeError(f"NVML does not count its energy: status {status}")
        return millijoules.value / 1e3

    step = Step(file, "cuda").at(batch_size)
    for _ in range(5):
        step()
    before, begin, count = read(), perf_counter(), 0
    while perf_counter() < begin + seconds:
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        count += 10
    after, took = read(), perf_counter() - begin
    return {"joules": (after - before) / count, "watts": (after - before) / took, "iterationMs": took / count * 1e3}


def energy(check: Check) -> dict[str, Any]:
    name = WITH_ENERGY if WITH_ENERGY in check.cases else next(iter(check.cases))
    file, batch_size = check.entry(name), check.cases[name]
    options = ["--batch-sizes", str(batch_size), "--seconds", "2", "--python", sys.executable, "--format", "json"]
    report = json.loads(check.ridgeline("profile", file, *options))
    lines = [line["energy"] for line in report.get("lines", []) if "energy" in line]
    found = {"reported": report.get("energy"), "warnings": report.get("warnings"), "lines": len(lines)}
    if check.kind == "cuda":
        found["counted"] = counted_by_nvml(file, batch_size, 3.0)
    return found


def rows_of(found: dict[str, Any]) -> list[list[str]]:
    """A row for each step: what was predicted in each way, beside what it took."""
    rows = []
    for name, real in (found.get("steps") or {}).items():
        for size, one in real["sizes"].items():
            if "ms" not in one:
                continue
            took = median(one["ms"])
            row = [name, str(size), f"{took:.2f}", figure(one.get("hostMs")), figure(one.get("kernels", {}).get("ms"))]
            for on in ("cpu", "cuda"):
                steps = (found.get("predicted") or {}).get(f"{name}, {on}") or []
                row.append(next((told(step, took) for step in steps if step["batchSize"] == int(size)), "–"))
            rows.append(row)
    return rows


def figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def told(step: dict[str, Any], took: float) -> str:
    ms = step["ms"]
    if ms["high"] is None:
        return f"≥ {ms['low']:.2f} {'holds' if ms['low'] <= took else 'WRONG'}"
    inside = "inside" if ms["low"] <= took <= ms["high"] else "OUTSIDE"
    return f"{ms['value']:.2f} ({ms['low']:.2f}–{ms['high']:.2f}) {inside}"


def print_found(found: dict[str, Any]) -> None:
    from shared import table

    print(f"{found.get('device')}, {found.get('versions')}\n")
    head = ["step", "batch", "took, ms", "host, ms", "kernels, ms", "predicted from CPU", "predicted from GPU"]
    table(head, rows_of(found))
    for part in ("measured", "script", "energy", "problems", "seconds"):
        print(f"{part}: {json.dumps(found.get(part))[:1500]}")


def check_all(kind: str, cases: dict[str, int], seconds: float, folder: Path, out: Path) -> dict[str, Any]:
    import torch

    check = Check(kind, cases, seconds, folder, out)
    check.found["versions"] = f"torch {torch.__version__}, CUDA {torch.version.cuda}"
    check.part("device", 10, lambda: device_of(kind))
    on = check.found["device"] if kind == "cuda" else "h100"
    kinds = [True, False] if kind == "cuda" else [True]
    check.part("steps", 60, lambda: real_steps(check))
    check.part("measured", 35, lambda: measure(check, 20.0))
    check.part("script", 60, lambda: script(check, "mlp"))  # may build the agent
    check.part("predicted", 40, lambda: predicted(check, on, kinds))
    check.part("energy", 40, lambda: energy(check))
    return check.found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--seconds", type=float, default=150, help="of the whole")
    parser.add_argument("--steps", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases = {name: CASES[name] if options.device == "cuda" else 2 for name in options.cases.split(",")}
    if options.steps:
        steps_main(options.steps, options.device, cases, 0.3)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        found = check_all(options.device, cases, options.seconds, Path(temporary), Path(os.environ["OUT"]))
    print_found(found)
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
