"""A training script of many compiled functions that compile again in its first steps, for test_run_compiled.py.

Prints what torch.compile did, the losses of each step, the weights and the random state, to the bit.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

functional = nn.functional
STEPS = int(sys.argv[1])
CHANGES = (1, 2, 3, 4, 8, 11)  # steps that differ from the one before
torch.manual_seed(0)
scale = 1.0  # of a case that reads it


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(functional.gelu(self.first(x)))


class Counting(Net):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls = min(self.calls + 1, 4)
        return super().forward(x) * self.calls


class Growing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(6))
        self.used = 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[: self.used]:
            x = layer(x).relu()
        return x


class Dropping(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(super().forward(x), 0.2, self.training)


class Breaking(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x)
        if hidden.sum().item() > 1e9:
            print("large")
        return self.second(hidden)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        context.factor = factor
        return x * factor

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient * context.factor, None


def changed(step: int) -> int:
    """0, then another number in each of the steps that differ."""
    return sum(step >= one for one in CHANGES)


def inputs(step: int, rows: int | None = None) -> torch.Tensor:
    return torch.randn(rows if rows is not None else 4 + changed(step), 8)


Case = Callable[[int], torch.Tensor]
cases: list[Case] = []
models = nn.ModuleList()


def case(make: Callable[[], Case]) -> None:
    cases.append(make())


def add(model: Any) -> Any:
    models.append(model)
    return model


for options in (
    {"backend": "eager"},
    {"backend": "aot_eager"},
    {"backend": "eager", "dynamic": True},
    {"backend": "eager", "dynamic": False},
    {"backend": "aot_eager", "fullgraph": True},
    {"mode": "reduce-overhead", "dynamic": True},
):

    @case
    def shapes(options: dict[str, Any] = options) -> Case:
        compiled = torch.compile(add(Net()), **options)
        return lambda step: compiled(inputs(step)).square().mean()


@case
def counter_on_the_module() -> Case:
    compiled = torch.compile(add(Counting()), backend="eager")
    return lambda step: compiled(inputs(step, 4)).square().mean()


@case
def dtypes() -> Case:
    compiled = torch.compile(lambda x: x.sin() * 2, backend="eager", fullgraph=True)
    model = add(Net())
    return lambda step: model(compiled(inputs(step, 4).to((torch.float32, torch.float64)[step % 2])).float()).mean()


@case
def train_and_eval() -> Case:
    model = add(Dropping())
    compiled = torch.compile(model, backend="aot_eager")
    return lambda step: compiled.train(step % 2 == 0)(inputs(step, 4)).square().mean()


@case
def eval_inside() -> Case:
    model = add(Dropping())

    @torch.compile(backend="eager", fullgraph=True)
    def both(x: torch.Tensor, factor: int) -> torch.Tensor:
        model.eval()
        with torch.no_grad():
            target = model(x)
        model.train()
        return (model(x) * factor - target).square().mean()

    return lambda step: both(inputs(step, 4), changed(step) + 1)


@case
def gradients_off() -> Case:
    model = add(Net())
    compiled = torch.compile(model, backend="eager")

    def run(step: int) -> torch.Tensor:
        if step in CHANGES:
            with torch.no_grad():
                compiled(inputs(step, 4))
        return compiled(inputs(step, 4)).square().mean()

    return run


@case
def growing_list() -> Case:
    model = add(Growing())
    compiled = torch.compile(model, backend="eager")

    def run(step: int) -> torch.Tensor:
        model.used = 1 + changed(step)
        return compiled(inputs(step, 4)).square().mean()

    return run


@case
def closure() -> Case:
    model = add(Net())
    factor = 1.0

    @torch.compile(backend="eager")
    def loss(x: torch.Tensor) -> torch.Tensor:
        return (model(x) * factor).square().mean()

    def run(step: int) -> torch.Tensor:
        nonlocal factor
        factor = 1.0 + changed(step)
        return loss(inputs(step, 4))

    return run


@case
def global_flag() -> Case:
    model = add(Net())

    @torch.compile(backend="eager")
    def loss(x: torch.Tensor) -> torch.Tensor:
        return (model(x) * scale).square().mean()

    def run(step: int) -> torch.Tensor:
        global scale
        scale = 1.0 + changed(step)
        return loss(inputs(step, 4))

    return run


@case
def autocast() -> Case:
    compiled = torch.compile(add(Net()), backend="aot_eager")

    def run(step: int) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=step in CHANGES):
            return compiled(inputs(step, 4)).float().square().mean()

    return run


@case
def checkpoints() -> Case:
    model = add(Dropping())
    compiled = torch.compile(lambda x: checkpoint(model, x, use_reentrant=False), backend="aot_eager")
    return lambda step: compiled(inputs(step)).square().mean()


@case
def compiled_in_a_checkpoint() -> Case:
    compiled = torch.compile(add(Dropping()), backend="aot_eager")
    return lambda step: checkpoint(compiled, inputs(step), use_reentrant=False).square().mean()


@case
def custom_function() -> Case:
    model = add(Net())

    @torch.compile(backend="aot_eager")
    def loss(x: torch.Tensor, factor: float) -> torch.Tensor:
        return Double.apply(model(x), factor).square().mean()

    return lambda step: loss(inputs(step, 4), 1.0 + changed(step))


@case
def hooks_of_its_own() -> Case:
    model = add(Net())
    model.first.register_forward_hook(lambda _, __, output: output * 2)
    model.second.register_full_backward_hook(lambda _, __, output: None)
    compiled = torch.compile(model, backend="eager")
    return lambda step: compiled(inputs(step)).square().mean()


@case
def graph_break() -> Case:
    compiled = torch.compile(add(Breaking()), backend="eager")
    return lambda step: compiled(inputs(step)).square().mean()


@case
def compiled_in_place() -> Case:
    model = add(Net())
    model.compile(backend="eager")
    return lambda step: model(inputs(step)).square().mean()


@case
def recompiled_for_ever() -> Case:
    model = add(Net())

    @torch.compile(backend="eager")
    def loss(x: torch.Tensor, name: str) -> torch.Tensor:
        return (model(x) * len(name)).square().mean()

    return lambda step: loss(inputs(step, 4), "x" * (1 + step % 6))


@case
def whole_step() -> Case:
    model = add(Net())
    own = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    @torch.compile(backend="eager")
    def train(x: torch.Tensor) -> torch.Tensor:
        loss = model(x).square().mean()
        loss.backward()
        own.step()
        own.zero_grad()
        return loss.detach()

    return lambda step: train(inputs(step)) + 0 * sum(p.sum() for p in model.parameters())


@case
def compiled_optimizer() -> Case:
    model = add(Net())
    own = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01))

    @torch.compile(backend="eager")
    def update() -> None:
        own.step()

    def run(step: int) -> torch.Tensor:
        loss = model(inputs(step)).square().mean()
        loss.backward()
        update()
        own.zero_grad()
        return model(inputs(step)).square().mean()

    return run


def digest(tensors: list[torch.Tensor]) -> str:
    return hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)).hexdigest()[:16]


def main() -> None:
    torch._dynamo.config.recompile_limit = 64  # the cases share functions
    optimizer = torch.optim.AdamW(models.parameters(), lr=1e-3)
    seen = []
    warnings.showwarning = lambda message, *_, **__: seen.append(str(message))
    for step in range(STEPS):
        losses = [run(step) for run in cases]
        optimizer.zero_grad()
        sum(losses).backward()
        optimizer.step()
        print(step, digest(losses))
    print("weights", digest(list(models.parameters())), "random", digest([torch.get_rng_state()]))
    for group in ("frames", "stats", "graph_break", "unimplemented", "recompile_limit"):
        print(group, dict(sorted(counters[group].items())))
    print("warnings", sorted(set(seen)))


if __name__ == "__main__":
    main()
