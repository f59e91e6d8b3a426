"""Where a model can be split into stages of a pipeline: behind a module whose output is all that later ones need."""

from __future__ import annotations

import contextlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MOST_MODULES = 1024


@dataclass
class _Call:
    path: str
    bytes: int = 0
    node: Any = None  # of autograd, that made the output; None: not one tensor with a gradient


def chain(models: list[Any], step: Callable[[], None]) -> list[tuple[str, int, bool]]:
    """The modules that follow each other in forward, in that order: the path, the bytes of the output where it is one
    tensor with a gradient, else 0, and whether the model can be split behind it: no other tensor with a gradient goes
    from the modules until it to what follows, and no weight is used on both sides. The modules are the model's own
    and, in place of an `nn.Sequential` or `nn.ModuleList`, those in it. Runs the step once. Empty for several models or
    too many modules, and where a module is called several times.
    """
    candidates = _candidates(models[0], "") if len(models) == 1 else []
    if not 0 < len(candidates) <= MOST_MODULES:
        return []
    calls: list[_Call] = []
    edges: list[tuple[int, int]] = []
    hooks = []
    for path, module in candidates:
        hooks.append(module.register_forward_hook(_noted(path, calls)))

    def forward_is_over(roots: list[Any]) -> None:
        while hooks:
            hooks.pop().remove()  # what backward runs again, as checkpoints do, is not of forward
        edges.extend(_edges(roots))

    try:
        with _before_backward(forward_is_over):
            step()
    finally:
        for hook in hooks:
            hook.remove()
    if len({call.path for call in calls}) != len(calls) or not edges:
        return []
    crossed = _crossed(calls, edges)
    return [(call.path, call.bytes, call.node is not None and not crossed[i]) for i, call in enumerate(calls)]


def _candidates(module: Any, path: str) -> list[tuple[str, Any]]:
    import torch

    found = []
    for name, child in module.named_children():
        child_path = f"{path}.{name}" if path else name
        if isinstance(child, torch.nn.Sequential | torch.nn.ModuleList) and len(child) > 0:
            found += _candidates(child, child_path)
        else:
            found.append((child_path, child))
    return found


def _noted(path: str, calls: list[_Call]) -> Callable[..., None]:
    import torch

    def hook(_: Any, __: tuple[Any, ...], output: Any) -> None:
        if not torch.is_grad_enabled():
            return
        calls.append(_Call(path))
        if isinstance(output, torch.Tensor) and output.grad_fn is not None:
            calls[-1] = _Call(path, output.numel() * output.element_size(), output.grad_fn)

    return hook


@contextlib.contextmanager
def _before_backward(seen: Callable[[list[Any]], None]) -> Iterator[None]:
    import torch

    run = torch.autograd.backward

    def backward(tensors: Any, *rest: Any, **named: Any) -> None:
        seen([tensors] if isinstance(tensors, torch.Tensor) else list(tensors))
        run(tensors, *rest, **named)

    torch.autograd.backward = backward
    try:
        yield
    finally:
        torch.autograd.backward = run


def _edges(roots: list[Any]) -> list[tuple[int, int]]:
    """Sequence numbers of an operation of forward and of a later one that uses its output; of a weight, of the first
    and of the last that use it, as if the first had made it."""
    edges = []
    users: dict[Any, list[int]] = {}
    nodes = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        number = node._sequence_nr()
        for before, _ in node.next_functions:
            if before is None:
                continue
            if hasattr(before, "variable"):
                users.setdefault(before, []).append(number)
                continue
            edges.append((before._sequence_nr(), number))
            if before not in seen:
                seen.add(before)
                nodes.append(before)
    edges += [(min(numbers) - 1, max(numbers)) for numbers in users.values() if len(numbers) > 1]
    return edges


def _crossed(calls: list[_Call], edges: list[tuple[int, int]]) -> list[bool]:
    """Whether an edge goes past the output of the call, from before it to behind it."""
    places = sorted((call.node._sequence_nr(), i) for i, call in enumerate(calls) if call.node is not None)
    numbers = [number for number, _ in places]
    changes = [0] * (len(places) + 1)
    for before, after in edges:
        first, last = bisect_right(numbers, before), bisect_left(numbers, after)
        if first < last:
            changes[first] += 1
            changes[last] -= 1
    crossed = [False] * len(calls)
    open_edges = 0
    for change, (_, i) in zip(changes, places, strict=False):
        open_edges += change
        crossed[i] = open_edges > 0
    return crossed
