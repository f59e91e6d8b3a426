"""Collectives of NCCL as a rank's recording has them: two ranks of DistributedDataParallel that share one GPU.

NCCL refuses two ranks on one GPU of one machine: each rank says that it is on another one (NCCL_HOSTID), so that what
they send goes over the loopback. Where NCCL does not accept that either, one rank is looked at alone.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "profiler" / "runner"), str(ROOT / "tests" / "integration")]

from checks import show  # noqa: E402

OUT = Path(os.environ["OUT"])
KERNEL = 0  # recording::Activity::kKernel
STEPS = 5
WIDTH = 512
LAYERS = 8
BUCKET_MB = 2
SECONDS = 25  # for the ranks to end


def join(rank: int, world_size: int) -> None:
    import torch
    import torch.distributed as dist

    os.environ["NCCL_HOSTID"] = f"ridgeline-{rank}"  # before the first communicator
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)


def make_step(world_size: int) -> tuple[Any, Any]:
    import torch
    import torch.distributed as dist

    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), bucket_cap_mb=BUCKET_MB)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(64, WIDTH, device="cuda")
    mean = torch.zeros(1, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        # With one rank, NCCL launches a kernel for an average only: for a sum there is nothing to do.
        dist.all_reduce(mean, op=dist.ReduceOp.SUM if world_size > 1 else dist.ReduceOp.AVG)

    return model, step


def record(rank: int, world_size: int) -> None:
    """One rank: its recording and what the watch says of it, as files."""
    import torch
    import torch.distributed as dist
    from ridgeline_runner.machine import interpreter
    from ridgeline_runner.machine.devices import Device
    from ridgeline_runner.script.communication import CommunicationWatch
    from ridgeline_runner.step.recorder import Recorder, Stage

    agents = sorted(Path(os.environ["RIDGELINE_CACHE"]).glob("agents/*/_ridgeline_agent.so"), key=os.path.getmtime)
    agent = interpreter.load_agent(str(agents[-1]))
    recorder = Recorder(agent, str(ROOT))
    recorder.track_memory(of_devices=True)
    recorder.stage(Stage.MODEL)
    join(rank, world_size)
    model, step = make_step(world_size)
    recorder.use_device(Device.of(recorder.set_models((model,), {})))
    watch = CommunicationWatch(agent, [])
    watch.follow([model])
    recorder.stage(Stage.ITERATION)
    for _ in range(4):
        step()
        recorder.forget_freed()
    torch.cuda.synchronize()
    recorder.begin()
    watch.begin()
    for number in range(STEPS):
        watch.iteration_begins(number)
        recorder.begin_iteration()
        step()
        recorder.end_iteration()
    recorder.end()
    watch.end()
    (OUT / f"nccl_{rank}.bin").write_bytes(recorder.finish())
    (OUT / f"nccl_{rank}.json").write_text(json.dumps(watch.description()))
    recorder.detach()
    dist.barrier()
    dist.destroy_process_group()


def train(rank: int, world_size: int) -> None:
    """One rank of a job as users start it."""
    import torch
    import torch.distributed as dist

    join(rank, world_size)
    _, step = make_step(world_size)
    for _ in range(60):
        step()
    torch.cuda.synchronize()
    dist.destroy_process_group()


def environment() -> dict[str, str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    chosen = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
    return {**os.environ, "NCCL_DEBUG": "WARN", **chosen}


def recorded(world_size: int) -> str:
    """Records all ranks; why it could not."""
    for old in OUT.glob("nccl_*"):
        old.unlink()
    names = environment()
    logs = [OUT / f"nccl_{rank}.log" for rank in range(world_size)]
    ranks = []
    for rank, log in enumerate(logs):
        with log.open("w") as said:
            command = [sys.executable, __file__, "record", str(rank), str(world_size)]
            ranks.append(subprocess.Popen(command, env=names, stdout=said, stderr=subprocess.STDOUT))
    try:
        for one in ranks:
            one.wait(SECONDS)
    except subprocess.TimeoutExpired:
        print(f"info the ranks did not end in {SECONDS} s")
    for one in ranks:
        one.kill()
    if all(one.wait() == 0 for one in ranks):
        return ""
    return " | ".join(" ".join(log.read_text().splitlines()[-4:]) for log in logs)[-1500:]


def collective_kernels(recording: Any) -> Iterator[tuple[str, str]]:
    """The name of each kernel of NCCL, and the call of torch.distributed that launched it."""
    for kind, name, call in zip(recording.activity_kind, recording.activity_name, recording.activity_call, strict=True):
        kernel = recording.string(name)
        if kind != KERNEL or not (kernel.startswith("nccl") or "oneRankReduce" in kernel):
            continue
        op = recording.call_op[call] if call != 0xFFFFFFFF else 0xFFFFFFFF
        while op != 0xFFFFFFFF and not recording.op(op).startswith("c10d::"):
            op = recording.op_parent[op]
        yield kernel.partition("(")[0], recording.op(op) or "no call"


def checks_of(rank: int, world_size: int) -> dict[str, bool]:
    from recordings import Recording

    recording = Recording((OUT / f"nccl_{rank}.bin").read_bytes())
    said = json.loads((OUT / f"nccl_{rank}.json").read_text())
    kernels = list(collective_kernels(recording))
    called = [recording.string(name) for name in recording.op_name if recording.string(name).startswith("c10d::")]
    calls = said["calls"]
    parameters = LAYERS * (WIDTH + 1) * WIDTH * 4
    sent = sum(size for _, _, kind, size, _ in calls if "reduce" in kind)
    buckets = sum(bucket["bytes"] for bucket in said["buckets"])
    with_kernel = calls if world_size > 1 else [call for call in calls if call[3] == 4]
    names = f"rank {rank} of {world_size}:"
    print(f"info {names} kernels {sorted(set(kernels))}, calls {sorted(set(called))}, warnings {said['warnings']}")
    print(f"info {names} first calls {calls[:4]}, groups {said['groups']}, lost {recording.loss}")
    return {
        f"{names} {len(calls)} calls are named, {len(called)} were recorded": len(calls) == len(called) > 0,
        f"{names} they are all-reduces with sequences that ascend": all("all_reduce" in call[2] for call in calls)
        and [call[1] for call in calls] == sorted({call[1] for call in calls}),
        f"{names} {sent} bytes, gradients and one average {STEPS * (parameters + 4)}": sent == STEPS * (parameters + 4),
        f"{names} {len(said['buckets'])} buckets of {buckets} bytes": buckets == parameters,
        f"{names} {len(kernels)} kernels of NCCL, {len(with_kernel)} calls with one": len(kernels)
        == len(with_kernel)
        > 0,
        f"{names} each kernel has its call": {call for _, call in kernels} == {"c10d::allreduce_"},
    }


def job_checks() -> dict[str, bool]:
    """`ridgeline profile --job` of the same job under torchrun."""
    binary, file = ROOT / "build" / "bin" / "ridgeline", OUT / "nccl.ridgeline-job"
    file.unlink(missing_ok=True)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [binary, "profile", "--job", file, "--steps", str(STEPS), "--seconds", "1", "--", *torchrun]
    names = {key: value for key, value in environment().items() if not key.startswith("MASTER")}
    try:
        done = subprocess.run(
            [*command, __file__, "train"], env=names, capture_output=True, text=True, timeout=3 * SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"the job did not end": False}
    (OUT / "nccl_run.txt").write_text(done.stdout + done.stderr)
    shown = subprocess.run([binary, "job", "show", file], capture_output=True, text=True, check=False)
    (OUT / "nccl_job.txt").write_text(shown.stdout + shown.stderr)
    told = subprocess.run(
        [binary, "job", "show", file, "--format", "json"], capture_output=True, text=True, check=False
    )
    (OUT / "nccl_job.json").write_text(told.stdout)
    if told.returncode:
        return {f"the job: {(done.stderr + told.stderr)[-600:]}": False}
    shares = [rank["communication"] or {} for rank in json.loads(told.stdout)["ranks"]]
    times = [one.get("exposedMs", 0) + one.get("hiddenMs", 0) for one in shares]
    return {f"the job's ranks have communication: {times} ms": len(times) == 2 and all(times)}


def main() -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    why = recorded(2)
    world_size = 1 if why else 2
    if why:
        print(f"info NCCL did not run two ranks on one GPU: {why}")
        if why := recorded(1):
            print(f"FAILED one rank: {why}")
            return 1
    checks: dict[str, bool] = {}
    for rank in range(world_size):
        checks |= checks_of(rank, world_size)
    if world_size == 2:
        checks |= job_checks()
    return show(checks)


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["train"]:
        train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    else:
        sys.exit(main())
