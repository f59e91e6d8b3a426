"""Changes of a training step that are made around the user's code: no file is touched.

A change is requested as `NAME` or `NAME:ARGUMENT`. It works on a step that is being built anew: on the models before
the iteration provider sees them, on the optimizers that it constructs, on the inputs, and on the function that runs one
iteration. What does not apply raises NotApplicable with the reason. server/step/changes/change_table.cpp describes the
same changes for the user, in the same order.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

from ridgeline_runner.changes import layer_widths
from ridgeline_runner.changes.activations import Checkpoint, Offload, SelectiveCheckpoint
from ridgeline_runner.changes.change import Change, Function, NotApplicable, Parts, Way, whole_number
from ridgeline_runner.changes.layer_widths import Width
from ridgeline_runner.step.entry import EntryPoint


def build(entry: EntryPoint, requests: list[str], batch_size: int, way: Way = Way.RUN) -> Parts:
    """A new step with the changes made in order. Raises NotApplicable, and whatever the providers raise."""
    widths: layer_widths.Widths = {}
    if any(named(request).reshapes for request in requests):
        uncompiled = [request for request in requests if request != "compile"]
        listed = Way.LISTED if way is Way.RUN else way
        widths = layer_widths.that_follow(lambda observe: _built(entry, uncompiled, batch_size, listed, observe))
        gc.collect()  # the models of that step, whose hooks refer to them, are no part of this one's memory
    return _built(entry, requests, batch_size, way, lambda models: layer_widths.apply(models, widths))


def _built(
    entry: EntryPoint, requests: list[str], batch_size: int, way: Way, on_changed_models: Callable[[list[Any]], None]
) -> Parts:
    changes = [named(request) for request in requests]
    optimizers: list[Any] = []
    with _constructed_optimizers(optimizers):
        positional, keywords = entry.models()
    parts = Parts(positional, keywords, batch_size, way, optimizers=optimizers)
    for change in changes:
        change.on_models(parts)
    on_changed_models(parts.models)
    for holder, key in parts.unused():
        holder[key] = None
    with _constructed_optimizers(optimizers):
        parts.function = entry.iteration(parts.positional, parts.keywords)
    for change in changes:
        change.on_optimizers(parts)
    parts.inputs = entry.inputs(parts.batch_size)
    for change in changes:
        change.on_step(parts)
    return parts


def named(request: str) -> Change:
    """Raises NotApplicable where there is no such change."""
    name, _, argument = request.partition(":")
    kind = CHANGES.get(name)
    if kind is None:
        raise NotApplicable(f"no change that can be tried is called {name}")
    return kind(argument)


@contextlib.contextmanager
def _constructed_optimizers(found: list[Any]) -> Iterator[None]:
    import torch

    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def observed(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        found.append(self)

    torch.optim.Optimizer.__init__ = observed
    try:
        yield
    finally:
        torch.optim.Optimizer.__init__ = original


class _Autocast(Change):
    """The step under torch.autocast, but for backward and the optimizer, as PyTorch advises."""

    dtype = ""

    def on_step(self, parts: Parts) -> None:
        import torch

        parameters = [p for model in parts.models for p in model.parameters()]
        if not any(p.dtype == torch.float32 for p in parameters):
            raise NotApplicable("no parameter is float32")
        device = parameters[0].device.type
        dtype = getattr(torch, self.dtype)

        @contextlib.contextmanager
        def around() -> Iterator[None]:
            with _outside_of_autocast(device), torch.autocast(device, dtype=dtype):
                yield

        parts.around.append(around)


class Bf16(_Autocast):
    dtype = "bfloat16"


class Fp16(_Autocast):
    dtype = "float16"


@contextlib.contextmanager
def _outside_of_autocast(device: str) -> Iterator[None]:
    """Backward and steps of optimizers run without autocast meanwhile; what it keeps of weights goes before them, as
    where `with torch.autocast` surrounds forward alone."""
    import torch

    backward, gradient = torch.autograd.backward, torch.autograd.grad

    def plain(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            torch.clear_autocast_cache()
            with torch.autocast(device, enabled=False):
                return function(*args, **kwargs)

        return call

    entered: list[Any] = []

    def enter(*_: Any) -> None:
        torch.clear_autocast_cache()
        entered.append(torch.autocast(device, enabled=False))
        entered[-1].__enter__()

    def leave(*_: Any) -> None:
        entered.pop().__exit__(None, None, None)

    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    torch.autograd.backward, torch.autograd.grad = plain(backward), plain(gradient)
    hooks = [register_optimizer_step_pre_hook(enter), register_optimizer_step_post_hook(leave)]
    try:
        yield
    finally:
        torch.autograd.backward, torch.autograd.grad = backward, gradient
        for hook in hooks:
            hook.remove()


class _Optimizer(Change):
    """All parameter groups get one of the implementations that an optimizer's constructor can choose."""

    implementation = ""
    others: tuple[str, ...] = ()

    def on_optimizers(self, parts: Parts) -> None:
        changed = False
        for optimizer in parts.optimizers:
            groups = [g for g in optimizer.param_groups if self.implementation in g]
            for group in groups:
                if group.get("differentiable"):
                    raise NotApplicable(f"{type(optimizer).__name__} is differentiable")
                changed |= group[self.implementation] is not True and not self._is_default(group)
                group[self.implementation] = True
                for other in self.others:
                    if other in group:
                        group[other] = False if other == "fused" else None
        if not parts.optimizers:
            raise NotApplicable("no optimizer of torch.optim takes part in the step")
        if not changed:
            kinds = ", ".join(sorted({type(o).__name__ for o in parts.optimizers}))
            has_it = any(self.implementation in g for o in parts.optimizers for g in o.param_groups)
            what = "uses its" if has_it else "has no"
            raise NotApplicable(f"{kinds} {what} {self.implementation} implementation{' already' if has_it else ''}")

    def _is_default(self, group: dict[str, Any]) -> bool:
        """Whether torch chooses this implementation by itself."""
        devices = {p.device.type for p in group["params"]}
        chosen = group.get("foreach") is None and not group.get("fused")
        return self.implementation == "foreach" and chosen and devices == {"cuda"}


class ForeachOptimizer(_Optimizer):
    implementation = "foreach"
    others = ("fused",)


class FusedOptimizer(_Optimizer):
    implementation = "fused"
    others = ("foreach",)


class ChannelsLast(Change):
    """Models in the memory format in which channels are adjacent: their convolutions return it, whatever they get."""

    def on_models(self, parts: Parts) -> None:
        import torch

        kinds = (torch.nn.Conv2d, torch.nn.ConvTranspose2d)
        if not any(isinstance(module, kinds) for model in parts.models for module in model.modules()):
            raise NotApplicable("there is no 2-D convolution")
        for model in parts.models:
            model.to(memory_format=torch.channels_last)


class Compile(Change):
    """torch.compile over each model's forward."""

    def on_models(self, parts: Parts) -> None:
        import torch

        for model in parts.models:
            model.forward = torch.compile(model.forward)


class Accumulate(Change):
    """The same samples in K parts of a K-th of the batch: the optimizer steps once, after the last part."""

    def on_optimizers(self, parts: Parts) -> None:
        self._count = whole_number(self.argument, "accumulate", least=2)
        if parts.batch_size % self._count:
            raise NotApplicable(f"batch size {parts.batch_size} has no {self._count} equal parts")
        parts.batch_size //= self._count
        parts.calls *= self._count

    def on_step(self, parts: Parts) -> None:
        if not parts.optimizers:
            raise NotApplicable("the providers construct no optimizer")
        function, numbers = parts.function, range(self._count)
        number = 0

        def step(*inputs: Any) -> Any:
            nonlocal number
            result = None
            for number in numbers:  # noqa: B007 - what is skipped depends on it
                result = function(*inputs)
            return result

        for optimizer in parts.optimizers:
            _only_when(lambda: number == numbers[-1], optimizer, "step")
            _only_when(lambda: number == 0, optimizer, "zero_grad")
        for model in parts.models:
            _only_when(lambda: number == 0, model, "zero_grad")
        parts.function = step


def _only_when(condition: Callable[[], bool], target: Any, method: str) -> None:
    """The method of this one object does nothing otherwise. Its class stays as it is: when one of its attributes is
    set, Python looks up the methods of all its subclasses anew, and a small step takes much longer."""
    original = getattr(target, method)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if condition() else None

    setattr(target, method, call)


class Freeze(Change):
    """No gradients for a module's parameters."""

    def on_models(self, parts: Parts) -> None:
        if not self.argument:
            raise NotApplicable("say which module to freeze: freeze:MODULE")
        parameters = [p for p in parts.module(self.argument).parameters() if p.requires_grad]
        if not parameters:
            raise NotApplicable(f"{self.argument} has no parameters that are trained")
        for parameter in parameters:
            parameter.requires_grad_(False)


class Without(Change):
    """A module taken out: it returns its first input. Layers that get another width by that are made anew for it."""

    reshapes = True

    def on_models(self, parts: Parts) -> None:
        if not self.argument:
            raise NotApplicable("say which module to take out: without:MODULE")
        module = parts.module(self.argument)
        module.forward = lambda first, *_, **__: first
        parts.taken_out.append(module)


class Threads(Change):
    """Another number of threads inside operations."""

    def on_step(self, parts: Parts) -> None:
        import torch

        count = whole_number(self.argument, "threads", least=1)
        usual = torch.get_num_threads()
        if count == usual:
            raise NotApplicable(f"it runs with {count} threads already")

        @contextlib.contextmanager
        def around() -> Iterator[None]:
            torch.set_num_threads(count)
            try:
                yield
            finally:
                torch.set_num_threads(usual)

        parts.around.append(around)


class BatchSize(Change):
    """Another batch size."""

    def on_models(self, parts: Parts) -> None:
        parts.batch_size = whole_number(self.argument, "batch-size", least=1)


CHANGES: dict[str, type[Change]] = {
    "bf16-autocast": Bf16,
    "fp16-autocast": Fp16,
    "foreach-optimizer": ForeachOptimizer,
    "fused-optimizer": FusedOptimizer,
    "channels-last": ChannelsLast,
    "compile": Compile,
    "checkpoint": Checkpoint,
    "selective-checkpoint": SelectiveCheckpoint,
    "offload": Offload,
    "accumulate": Accumulate,
    "freeze": Freeze,
    "without": Without,
    "set": Width,
    "threads": Threads,
    "batch-size": BatchSize,
}
