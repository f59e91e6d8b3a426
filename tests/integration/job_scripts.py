"""Scripts of several ranks, and how the tests of `ridgeline profile --job` run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import ATTEMPTS, PYTHON, ridgeline
from job_file import records
from training_scripts import SINGLE

TORCHRUN = Path(sys.executable).with_name("torchrun")

# Trains for as many steps as its argument says, with buckets, buffers and a metric. Each rank runs ACT in each step.
DDP = """
import gc, os, sys, time
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Samples(TensorDataset):
    def __getitem__(self, index):
        if rank == 1:
            time.sleep(SLOW)
        return super().__getitem__(index)


def act(step):
    ACT


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 256), nn.Linear(256, 8))
    model = DistributedDataParallel(net, bucket_cap_mb=0.2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = Samples(torch.randn(16000, 64), torch.randint(0, 8, (16000,)))
    step = 0
    for x, y in DataLoader(data, batch_size=16, sampler=DistributedSampler(data)):
        act(step)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        dist.all_reduce(loss.detach())
        optimizer.step()
        step += 1
        if step == int(sys.argv[1]):
            break
    if rank == 0:
        print("weights", sum(p.double().sum().item() for p in net.parameters()).hex())
    del model, optimizer, loss  # left to the end of the interpreter, DDP's threads may end it with SIGABRT (torch 2.13)
    gc.collect()
    dist.destroy_process_group()


rank = int(os.environ["RANK"])
main()
"""

# Rank 0 keeps the parameters; the others send it their gradients.
PARAMETER_SERVER = """
import sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
net = torch.nn.Linear(128, 128)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(int(sys.argv[1])):
    if rank == 0:
        for parameter in net.parameters():
            parameter.grad = torch.zeros_like(parameter)
        for worker in range(1, ranks):
            for parameter in net.parameters():
                received = torch.empty_like(parameter)
                dist.recv(received, worker)
                parameter.grad += received
        optimizer.step()
        for worker in range(1, ranks):
            for parameter in net.parameters():
                dist.send(parameter.data, worker)
    else:
        optimizer.zero_grad()
        net(torch.randn(32, 128)).pow(2).sum().backward()
        for parameter in net.parameters():
            dist.send(parameter.grad, 0)
        for parameter in net.parameters():
            dist.recv(parameter.data, 0)
            parameter.grad.zero_()
        optimizer.step()
dist.destroy_process_group()
"""

# Each rank trains alone.
ALONE = """
import os, sys, time
import torch

rank = int(os.environ["RANK"])
net = torch.nn.Linear(128, 128)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
ACT
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    net(torch.randn(32, 128)).pow(2).sum().backward()
    optimizer.step()
"""


def script_of(folder: Path, text: str, *, act: str = "pass", slow: float = 0, name: str = "train.py") -> Path:
    script = folder / name
    script.write_text(text.replace("ACT", act).replace("SLOW", str(slow)))
    return script


def command(script: Path, steps: int, ranks: int = 2) -> list[str]:
    return [str(TORCHRUN), "--nproc-per-node", str(ranks), "--standalone", str(script), str(steps)]


# What torch 2.13 may say when an interpreter with a Gloo group ends, also without Ridgeline: Gloo's thread lets go of a
# Python object (AsyncWork's ThreadLocalState), the interpreter that ends makes it leave through a `noexcept` function.
TORCH_CRASHES = "terminate called without an active exception"


def run_ranks(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`ridgeline profile`, again where torch itself has crashed at the end of a rank."""
    for _ in range(ATTEMPTS):
        done = ridgeline("profile", *arguments, **SINGLE, **environment)
        if TORCH_CRASHES not in done.stderr:
            break
    return done


# Trains until it is ended.
ENDLESS = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    optimizer.zero_grad()
    model(torch.randn(16, 64)).square().mean().backward()
    optimizer.step()
"""


def run_job(
    script: Path, steps: int, *options: str, ranks: int = 2, budget: float = 0.5, **environment: str
) -> subprocess.CompletedProcess[str]:
    options = ("--python", PYTHON, "--seconds", str(budget), *options)
    return run_ranks(*options, "--", *command(script, steps, ranks), **environment)


def transfers(job: dict[str, Any]) -> tuple[dict, dict]:
    """What was sent and what was received: (sender, receiver, transaction) → (bytes, start, end)."""
    sent, received = {}, {}
    for record in records(job):
        for _, sends, peer, transaction, size, start, end in record["transfers"]:
            if sends:
                sent[record["rank"], peer, transaction] = (size, start, end)
            else:
                received[peer, record["rank"], transaction] = (size, start, end)
    return sent, received
