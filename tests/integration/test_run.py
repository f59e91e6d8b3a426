"""`ridgeline profile`: training scripts as they are, alone and under a launcher."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BINARY, PYTHON, profile, ridgeline
from job_scripts import TORCHRUN, run_ranks
from training_scripts import SINGLE, TRAIN, line, number_of, report_of, run, write

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler" / "runner"))
from ridgeline_runner.script.step_period import MOST_CALLS, find_period

# ---- steps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "optimizers", "expected"),
    [
        ([0], 1, ([0], 0)),
        ([0], 2, None),
        ([0, 1, 0, 1], 2, ([0, 1], 0)),
        ([0, 1, 0, 1, 0], 2, ([0, 1], 1)),
        ([0, 0, 0, 1, 0, 0, 0, 1], 2, ([0, 0, 0, 1], 0)),
        ([0, 0, 1, 0, 0, 1, 0], 2, ([0, 0, 1], 1)),
        ([1, 0, 0, 1, 0, 0], 2, ([0, 0, 1], 2)),
        ([0] * 63, 2, None),
        ([0] * 64, 2, ([0], 0)),
    ],
)
def test_where_a_step_ends(calls: list[int], optimizers: int, expected: tuple[list[int], int] | None) -> None:
    assert find_period(calls, optimizers) == expected


def test_optimizers_without_an_order() -> None:
    calls = [int(i**0.5) % 2 for i in range(MOST_CALLS)]
    assert find_period(calls[:-1], 2) is None
    assert find_period(calls, 2) == ([], 0)


def test_a_script_runs_as_it_is(tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN)
    alone = subprocess.run([PYTHON, script, "300"], capture_output=True, text=True, env={**os.environ, **SINGLE})
    done = run(script, "300", options=("--steps", "3"))
    assert done.returncode == 0
    assert done.stdout == alone.stdout, "the same weights, bit for bit"
    assert "train.py · batch 32" in done.stderr
    assert "sitecustomize" not in done.stderr


def test_figures_of_a_script(tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN)
    report = report_of(script, "100000", options=("--stop", "--seconds", "2"))
    assert report["entry"]["batchSize"] == 32
    total = sum(one["timeMs"]["self"] for one in report["lines"]) + sum(one["timeMs"] for one in report["other"])
    assert total == pytest.approx(report["iteration"]["timeMs"], rel=1e-3)
    for mark in ("loss.backward()", "optimizer.step()", "self.out(torch.relu"):
        assert number_of(script, mark) in {one["line"] for one in report["lines"]}, mark
    assert line(report, number_of(script, "loss.backward()"))["text"] == "loss.backward()"
    assert line(report, number_of(script, "self.out(torch.relu"))["calls"] == 1
    work = report["work"]
    assert work["total"]["matrixFlops"] == 2 * 32 * (2 * 64 * 256 + 3 * 256 * 8)
    assert work["found"] > 0.95 * work["listed"]
    assert number_of(script, "self.out(torch.relu") in {one["line"] for one in work["lines"]}


def test_the_memory_is_that_of_an_entry_point(tmp_path: Path) -> None:
    """To the byte, but for the data set, which the entry point does not have."""
    script = report_of(write(tmp_path, TRAIN), "200", options=("--stop", "--seconds", "1"))
    entry = write(
        tmp_path,
        """
        import torch
        from train import Net


        def model_provider():
            return Net()


        def input_provider(batch_size=32):
            return torch.randn(batch_size, 64), torch.randint(0, 8, (batch_size,))


        def iteration_provider(model):
            optimizer = torch.optim.Adam(model.parameters())

            def iteration(x, y):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()

            return iteration
        """,
        "entry.py",
    )
    there = profile(entry, "--batch-sizes", "32", **SINGLE)
    for category in ("weights", "gradients", "optimizerState"):
        assert script["memory"]["byCategory"][category] == there["memory"]["byCategory"][category], category


@pytest.mark.parametrize("critic", [1, 5])
def test_a_gan(tmp_path: Path, critic: int) -> None:
    script = write(
        tmp_path,
        f"""
        import torch
        from torch import nn
        G, D = nn.Linear(16, 64), nn.Linear(64, 1)
        opt_d = torch.optim.SGD(D.parameters(), lr=1e-3)
        opt_g = torch.optim.SGD(G.parameters(), lr=1e-3)
        for step in range(100000):
            for _ in range({critic}):
                opt_d.zero_grad()
                (D(G(torch.randn(32, 16)).detach()).mean() - D(torch.randn(32, 64)).mean()).backward()
                opt_d.step()
            opt_g.zero_grad()
            (-D(G(torch.randn(32, 16))).mean()).backward()
            opt_g.step()
        """,
    )
    report = report_of(script, options=("--stop", "--seconds", "1"))
    assert line(report, number_of(script, "opt_d.step()"))["calls"] == critic
    assert line(report, number_of(script, "opt_g.step()"))["calls"] == 1
    assert report["script"]["step"]["optimizers"] == [1] * critic + [2]
    assert report["entry"]["batchSize"] == 32


def test_accumulation_counts_all_batches(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.AdamW(model.parameters())
        loader = DataLoader(TensorDataset(torch.randn(8192, 64)), batch_size=8)
        for epoch in range(1000):
            for i, (x,) in enumerate(loader):
                (model(x).square().mean() / 4).backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    )
    report = report_of(script, options=("--stop", "--seconds", "1"))
    assert report["entry"]["batchSize"] == 32
    assert line(report, number_of(script, "backward()"))["calls"] == 4
    assert "The batch size 32 is that of the 4 batches of a step." in report["warnings"]


def test_the_closure_of_an_optimizer(tmp_path: Path) -> None:
    """Lightning passes one, and LBFGS needs one: what runs in it is not the optimizer."""
    script = write(
        tmp_path,
        """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64))
        optimizer = torch.optim.LBFGS(model.parameters(), lr=1e-3, max_iter=4)
        x = torch.randn(32, 64)

        def closure():
            optimizer.zero_grad()
            loss = (model(x) - x).square().mean()
            loss.backward()
            return loss

        for step in range(100000):
            optimizer.step(closure)
        """,
    )
    report = report_of(script, options=("--stop", "--seconds", "1"))
    forward = line(report, number_of(script, "loss = "))
    assert forward["calls"] >= 4
    assert forward["timeMs"]["optimizer"] == 0 < forward["timeMs"]["forward"]
    assert line(report, number_of(script, "optimizer.step(closure)"))["timeMs"]["optimizer"] > 0


def run_two_ranks(script: Path, *options: str) -> None:
    done = run_ranks(*options, "--", str(TORCHRUN), "--nproc-per-node", "2", "--standalone", str(script))
    assert done.returncode == 0, done.stderr


def test_two_ranks_of_torchrun(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        dist.init_process_group("gloo")
        model = DistributedDataParallel(torch.nn.Linear(256, 256))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for step in range(200):
            optimizer.zero_grad()
            predicted = model(torch.randn(64, 256))
            predicted.square().mean().backward()
            optimizer.step()
        dist.destroy_process_group()
        """,
    )
    options = ("--seconds", "1", "--output", str(tmp_path / "report.txt"))
    run_two_ranks(script, *options)
    first = (tmp_path / "report.txt").read_text()
    assert "batch 64" in first
    # The momentum, without DDP's buckets and the output of the step before.
    sizes = dict(re.findall(r"(weights|optimizer state) ([\d.]+ KiB)", first))
    assert sizes["weights"] == sizes["optimizer state"] == "257 KiB", first
    ranks = first.split("Ranks\n")[1].split("\n\n")[0].splitlines()
    assert [row.split()[0] for row in ranks[1:]] == ["0", "1"]
    assert "batch 64" in (tmp_path / "report.rank1.txt").read_text()


@pytest.mark.long
def test_weights_and_gradients_of_sharded_ranks(tmp_path: Path) -> None:
    """A rank of `fully_shard` has half of each weight, of its gradient and of its momentum; the gathered ones go."""
    script = write(
        tmp_path,
        """
        import torch
        import torch.distributed as dist
        from torch import nn
        from torch.distributed.fsdp import fully_shard
        dist.init_process_group("gloo")
        model = nn.Sequential(nn.Linear(256, 1024, bias=False), nn.ReLU(), nn.Linear(1024, 256, bias=False))
        for one in (model[0], model[2], model):
            fully_shard(one).set_force_sum_reduction_for_comms(True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for step in range(200):
            optimizer.zero_grad()
            model(torch.randn(64, 256)).square().mean().backward()
            optimizer.step()
        dist.destroy_process_group()
        """,
    )
    options = ("--seconds", "1", "--format", "json", "--output", str(tmp_path / "report.json"))
    run_two_ranks(script, *options)
    shard = 4 * 256 * 1024 * 2 // 2
    for rank in ("report.json", "report.rank1.json"):
        alive = json.loads((tmp_path / rank).read_text())["memory"]["overTime"]["byCategory"]
        assert set(alive["weights"]) == {shard}
        assert max(alive["gradients"]) == shard
        assert set(alive["optimizerState"]) == {shard}, "not what Gloo's threads still hold of the step before"


def test_processes_that_the_script_spawns(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import sys
        import torch
        import torch.distributed as dist
        import torch.multiprocessing
        from torch.nn.parallel import DistributedDataParallel

        def train(rank, address):
            dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
            model = DistributedDataParallel(torch.nn.Linear(256, 256))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(200):
                optimizer.zero_grad()
                model(torch.randn(64, 256)).square().mean().backward()
                optimizer.step()
            dist.destroy_process_group()

        if __name__ == "__main__":
            torch.multiprocessing.spawn(train, ("file://" + sys.argv[1],), 2)
        """,
    )
    file = tmp_path / "report.txt"
    done = run(script, str(tmp_path / "rendezvous"), options=("--seconds", "1", "--output", str(file)))
    assert done.returncode == 0, done.stderr
    rows = file.read_text().split("Processes, in the order in which they imported torch\n")[1].splitlines()
    assert [row.split()[0] for row in rows[1:]] == ["0", "1"]
    assert "batch 64" in (tmp_path / "report.rank1.txt").read_text()


# ---- the script's own --------------------------------------------------------------------------------------------


def test_streams_arguments_and_exit_status_are_the_scripts(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import os, sys
        print(sys.argv[1:], os.getcwd(), sys.stdin.readline().strip(), __name__)
        sys.exit(7)
        """,
    )
    done = subprocess.run(
        [BINARY, "profile", "--python", PYTHON, script, "--steps", "3", "--", "x"],
        input="typed\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 7
    assert done.stdout.splitlines() == [f"['--steps', '3', '--', 'x'] {tmp_path} typed __main__"]
    assert "no Python process of the command imported torch" in done.stderr


def test_a_sitecustomize_of_the_users_is_run(tmp_path: Path) -> None:
    write(tmp_path, "import builtins\nbuiltins.mine = 5\n", "sitecustomize.py")
    script = write(tmp_path, "import sitecustomize\nprint(mine, sitecustomize.__file__)\n")
    done = ridgeline("profile", "--python", PYTHON, script, PYTHONPATH=str(tmp_path))
    assert done.stdout.split() == ["5", str(tmp_path / "sitecustomize.py")], done.stderr


def test_a_command_that_is_killed(tmp_path: Path) -> None:
    script = write(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    assert run(script).returncode == 128 + signal.SIGTERM


def interrupted(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """After 500 steps and again after 700, as by Ctrl-C in a terminal: all of the group get it."""
    interrupt = "if done in (500, 700): os.killpg(os.getpgid(0), signal.SIGINT)"
    text = TRAIN.replace("if done == STEPS:", f"{interrupt}\n            if done == STEPS:")
    script = write(tmp_path, "import os, signal\n" + text)
    return subprocess.run(
        [BINARY, "profile", "--steps", "1000", "--python", PYTHON, *options, script, "100000000"],
        capture_output=True,
        text=True,
        env={**os.environ, **SINGLE},
        process_group=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
        timeout=300,
        check=False,
    )


def test_interrupts(tmp_path: Path) -> None:
    """The first ends the recording, the second one the script."""
    done = interrupted(tmp_path)
    assert "the recording has ended" in done.stderr
    assert "train.py · batch 32" in done.stderr
    assert "KeyboardInterrupt" in done.stderr
    assert done.returncode != 0


def test_an_interrupt_with_stop_ends_the_script(tmp_path: Path) -> None:
    done = interrupted(tmp_path, "--stop")
    assert "train.py · batch 32" in done.stderr
    assert "KeyboardInterrupt" not in done.stderr, "there was no second one"
    assert done.returncode == 0


def test_code_for_cuda_runs_on_the_cpu(tmp_path: Path) -> None:
    """In a job of one rank, as its launcher would start it."""
    setup = "; ".join(
        [
            'import os; os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")',
            'torch.distributed.init_process_group("nccl")',
            "torch.cuda.set_device(0)",
        ]
    )
    text = TRAIN.replace(
        "    model = Net()", f"    {setup}\n    model = nn.parallel.DistributedDataParallel(Net().cuda(), [0])"
    )
    text = text.replace("cross_entropy(model(x), y)", "cross_entropy(model(x.cuda()), y.cuda())")
    report = report_of(write(tmp_path, text), "100000", options=("--device", "cpu", "--stop", "--seconds", "0.5"))
    assert report["environment"]["inPlaceOf"] == "cuda"
    assert any("ran on the CPU" in warning for warning in report["warnings"])


# ---- too little to report ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "status", "expected"),
    [
        ("no torch", "pass", 0, "no Python process of the command imported torch"),
        ("no step", "import torch\ntorch.nn.Linear(2, 2)", 1, "no process of the command took a step"),
        ("two steps", TRAIN.replace("else 200", "else 2"), 1, "no-training-step"),
        ("raises", TRAIN.replace("done += 1", "done += 1\n            assert done < 3"), 1, "no-training-step"),
        (
            "replaces itself",
            "import os, sys, torch\nos.execv(sys.executable, [sys.executable, '-c', 'print(5)'])",
            1,
            "no process of the command took a step",
        ),
    ],
)
def test_a_script_that_gives_nothing(tmp_path: Path, name: str, text: str, status: int, expected: str) -> None:
    done = run(write(tmp_path, text))
    assert done.returncode == status, name
    assert expected in done.stderr
    assert done.stderr.count("ridgeline: ") <= 3


def test_a_wrong_command_line(tmp_path: Path) -> None:
    script = write(tmp_path, "open('ran', 'w')")
    for arguments, expected in [
        ((), "a training script"),
        (("missing.py",), "There is no file missing.py"),
        (("--format", "json", str(script)), "--output"),
        (("--", "no-such-command"), "no-such-command"),
    ]:
        done = ridgeline("profile", *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert expected in done.stderr
    assert not (tmp_path / "ran").exists()
