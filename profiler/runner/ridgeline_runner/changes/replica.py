"""What training of several ranks needs to know of one process: the gradients in the order in which backward has them
ready, where the model can be split, the buffers, what DistributedDataParallel itself costs on the host, and steps of
several copies at once."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, BinaryIO

from ridgeline_runner.changes import built_in, module_chain
from ridgeline_runner.changes.change import Parts
from ridgeline_runner.changes.trial import SEED
from ridgeline_runner.step.entry import load_entry_point
from ridgeline_runner.step.recorder import Recorder
from ridgeline_runner.step.reporter import Reporter

_ROUNDS = 6
_WARMUP = 3
_REPEATS = 15  # of steps of DistributedDataParallel with and without it
_FEWEST, _MOST = 3, 400  # steps of a round
_LEAST_QUIET = 0.25

_Step = tuple[int, bool]  # nanoseconds, and whether another process took the processor away meanwhile


def run(experiment: dict[str, Any], spec: dict[str, Any], reporter: Reporter, recorder: Recorder) -> None:
    """Copies are forked before the entry is loaded: a process that has computed with several threads cannot fork."""
    recorder.detach()
    copies = [_Copy.start(spec, place, experiment["copies"]) for place in range(1, experiment["copies"])]
    try:
        reporter.progress("replica", 0.0, "Loading the entry point")
        parts = _build(spec)
        reporter.progress("replica", 0.2, "Finding the gradients of the step")
        message: dict[str, Any] = {"type": "replica", **_gradients(parts)}
        message["chain"] = module_chain.chain(parts.models, lambda: parts.function(*parts.inputs))
        if copies:
            reporter.progress("replica", 0.4, f"Running {experiment['copies']} copies of the step at once")
            message |= _together(parts, copies, experiment["seconds"])
        reporter.progress("replica", 0.9, "Timing DistributedDataParallel in one process")
        message |= _ddp_costs(parts)
        message |= _accumulation(parts)
        reporter.channel.send(message)
    finally:
        for copy in reversed(copies):  # a later one has the pipes of those before it open, too
            copy.stop()


def _build(spec: dict[str, Any]) -> Parts:
    import torch

    entry = load_entry_point(spec)
    torch.manual_seed(SEED)
    return built_in.build(entry, [], entry.batch_size)


# ---- gradients -------------------------------------------------------------------------------------------------------


def _gradients(parts: Parts) -> dict[str, Any]:
    """`[name, bytes, dtype]` of each gradient as it was accumulated in one step; of a parameter that several backward
    passes of the step have a gradient for, several."""
    named: dict[int, tuple[str, Any]] = {}
    for i, model in enumerate(parts.models):
        prefix = f"{type(model).__name__}[{i}]." if len(parts.models) > 1 else ""
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                named.setdefault(id(parameter), (prefix + name, parameter))
    order: list[int] = []
    hooks = [
        parameter.register_post_accumulate_grad_hook(lambda _, key=key: order.append(key))
        for key, (_, parameter) in named.items()
    ]
    try:
        for _ in range(2):  # the first step of a compiled model may trace it
            order.clear()
            parts.function(*parts.inputs)
    finally:
        for hook in hooks:
            hook.remove()
    sizes = {key: (name, p.numel() * p.element_size(), str(p.dtype)[6:]) for key, (name, p) in named.items()}
    buffers: Counter[str] = Counter()
    for buffer in {id(b): b for model in parts.models for b in model.buffers()}.values():
        buffers[str(buffer.dtype)[6:]] += buffer.numel() * buffer.element_size()
    return {
        "gradients": [list(sizes[key]) for key in order],
        "unusedParameters": len(named) - len(set(order)),
        "buffers": dict(buffers),
    }


# ---- copies ----------------------------------------------------------------------------------------------------------


def _together(parts: Parts, copies: list[_Copy], seconds: float) -> dict[str, Any]:
    """Steps of this process alone and then of all at once, in turns; nanoseconds, by copy, this process first. Steps
    during which another process took a processor away are left out, where enough remain."""
    everywhere = os.sched_getaffinity(0)
    alone: list[_Step] = []
    together: list[list[_Step]] = [[] for _ in range(len(copies) + 1)]
    for copy in copies:
        copy.await_warm()
    _times(parts, _WARMUP)
    estimate = max(1, min(ns for ns, _ in _times(parts, _WARMUP)))
    count = max(_FEWEST, min(_MOST, round(seconds * 1e9 / (2 * _ROUNDS) / estimate)))
    for _ in range(_ROUNDS):
        alone += _times(parts, count)
        os.sched_setaffinity(0, _cores(0, len(copies) + 1))
        for copy in copies:
            copy.ask(count)
        together[0] += _times(parts, count)
        for place, copy in enumerate(copies, 1):
            together[place] += copy.answer()
        os.sched_setaffinity(0, everywhere)
    kept_alone, alone_quiet = _undisturbed([alone])
    kept_together, together_quiet = _undisturbed(together)
    return {"aloneNs": kept_alone[0], "togetherNs": kept_together, "disturbed": not (alone_quiet and together_quiet)}


def _undisturbed(copies: list[list[_Step]]) -> tuple[list[list[int]], bool]:
    """The steps that nothing disturbed in any of the copies; all where that are too few, and False."""
    rows = list(zip(*copies, strict=True))
    quiet = [row for row in rows if not any(preempted for _, preempted in row)]
    enough = len(quiet) >= max(_FEWEST, _LEAST_QUIET * len(rows))
    return [
        list(column) for column in zip(*[[ns for ns, _ in row] for row in (quiet if enough else rows)], strict=True)
    ], enough


def _cores(place: int, copies: int) -> set[int]:
    """A share of the processors for each copy; all where there are fewer than copies."""
    found = sorted(os.sched_getaffinity(0))
    if len(found) < copies:
        return set(found)
    return set(found[place * len(found) // copies : (place + 1) * len(found) // copies])


def _times(parts: Parts, count: int) -> list[_Step]:
    times = []
    for _ in range(count):
        preempted, start = _preemptions(), perf_counter_ns()
        parts.function(*parts.inputs)
        times.append((perf_counter_ns() - start, _preemptions() > preempted))
    return times


def _preemptions() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


@dataclass(frozen=True)
class _Copy:
    """Another process with the same step, which runs it when asked. It ends when its pipe is closed."""

    pid: int
    asks: BinaryIO
    answers: BinaryIO

    @staticmethod
    def start(spec: dict[str, Any], place: int, copies: int) -> _Copy:
        its_asks, asks = os.pipe()
        answers, its_answers = os.pipe()
        pid = os.fork()
        if pid:
            os.close(its_asks)
            os.close(its_answers)
            return _Copy(pid, os.fdopen(asks, "wb", 0), os.fdopen(answers, "rb"))
        try:
            os.close(asks)
            os.close(answers)
            os.sched_setaffinity(0, _cores(place, copies))
            _serve(_build(spec), os.fdopen(its_asks, "rb"), os.fdopen(its_answers, "wb", 0))
        finally:
            os._exit(0)

    def await_warm(self) -> None:
        self.answer()

    def ask(self, count: int) -> None:
        self.asks.write(b"%d\n" % count)

    def answer(self) -> list[_Step]:
        line = self.answers.readline()
        if not line:
            raise RuntimeError("a copy of the step ended while it ran")
        return [(ns, preempted) for ns, preempted in json.loads(line)]

    def stop(self) -> None:
        self.asks.close()
        self.answers.close()
        os.waitpid(self.pid, 0)


def _serve(parts: Parts, asks: BinaryIO, answers: BinaryIO) -> None:
    _times(parts, _WARMUP)
    answers.write(b"[]\n")
    for line in asks:
        answers.write(json.dumps(_times(parts, int(line))).encode() + b"\n")


# ---- DistributedDataParallel itself ----------------------------------------------------------------------------------


def _trained(parts: Parts) -> list[Any]:
    parameters = [p for model in parts.models for p in model.parameters() if p.requires_grad]
    return list({id(p): p for p in parameters}.values())


def _accumulation(parts: Parts) -> dict[str, Any]:
    """What it takes to add the gradients of one more micro-batch to those that are there. Nothing for devices."""
    import torch

    trained = _trained(parts)
    if not trained or any(p.device.type != "cpu" for p in trained):
        return {}
    sums, added = ([torch.zeros_like(p, requires_grad=False) for p in trained] for _ in range(2))
    times = []
    for _ in range(_REPEATS + _WARMUP):
        start = perf_counter_ns()
        for total, one in zip(sums, added, strict=True):
            total.add_(one)
        times.append(perf_counter_ns() - start)
    return {"accumulateNs": statistics.median(times[_WARMUP:])}


def _ddp_costs(parts: Parts) -> dict[str, Any]:
    """What a step takes longer with DistributedDataParallel in a group of this process alone: nothing is sent, but
    gradients are copied to buckets and back, and its hooks run. Of parameters like the model's, whose gradients take
    no work. Nothing for devices, and where the entry has a process group of its own."""
    import torch
    import torch.distributed as dist

    unique = _trained(parts)
    if not dist.is_available() or dist.is_initialized() or any(p.device.type != "cpu" for p in unique) or not unique:
        return {}
    for parameter in unique:
        parameter.grad = None
    with _group_of_one():
        plain = _leaves(unique)
        replica = torch.nn.parallel.DistributedDataParallel(_leaves(unique))
        samples: dict[str, list[tuple[int, int]]] = {"plain": [], "ddp": []}
        for number in range(_REPEATS + _WARMUP):
            for name, module in (("plain", plain), ("ddp", replica)):
                times = _forward_and_backward(module)
                if number >= _WARMUP:
                    samples[name].append(times)
        del replica
    forward, backward = (
        [ddp[part] - bare[part] for bare, ddp in zip(samples["plain"], samples["ddp"], strict=True)] for part in (0, 1)
    )
    return {"ddpForwardNs": max(0, statistics.median(forward)), "ddpBackwardNs": max(0, statistics.median(backward))}


@contextlib.contextmanager
def _group_of_one() -> Iterator[None]:
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def _leaves(like: list[Any]) -> Any:
    import torch

    class Gradients(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *parameters: Any) -> Any:
            ctx.like = parameters
            return parameters[0].new_zeros(())

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            return tuple(torch.zeros_like(parameter) for parameter in ctx.like)

    class Leaves(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.leaves = torch.nn.ParameterList([torch.nn.Parameter(torch.empty_like(p)) for p in like])

        def forward(self) -> Any:
            return Gradients.apply(*self.leaves)

    return Leaves()


def _forward_and_backward(module: Any) -> tuple[int, int]:
    for parameter in module.parameters():
        parameter.grad = None
    start = perf_counter_ns()
    loss = module()
    middle = perf_counter_ns()
    loss.backward()
    return middle - start, perf_counter_ns() - middle
