"""Weights that a script updates itself, without an optimizer of torch.optim: whether they changed between two backward
passes, and how many of those a training step has.

Weights are compared by contents: `p.data.add_(...)` counts in no version counter, and in a functional style the new
weights are other tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ridgeline_runner.script.backward_watch import Backward
from ridgeline_runner.script.step_period import find_period

_MOST_NODES = 20_000  # of a graph that is searched for weights
_MOST_WEIGHTS = 8  # that are compared, of one backward pass
_MOST_ELEMENTS = 1024  # likewise, of one weight
_LEAST_UPDATES = 3
_MOST_RUNS = 256  # that are looked through for a period


class WeightsWatch:
    """What backward passes compute gradients for: by its shapes, a kind of weights with a number of its own."""

    def __init__(self) -> None:
        self._kinds: dict[Any, int] = {}
        self._seen: dict[int, list[Any]] = {}
        self._trains_parameters = False

    def look(self, backward: Backward) -> tuple[int, bool] | None:
        """The kind of the weights, and whether they have changed since the last backward pass of that kind; None where
        these are no weights, as in a gradient with respect to an input."""
        import torch

        leaves = [one for one in backward.inputs if isinstance(one, torch.Tensor)] or _leaves(backward.roots)
        parameters = [one for one in leaves if isinstance(one, torch.nn.Parameter)]
        if self._trains_parameters and not parameters:
            return None
        if parameters and not self._trains_parameters:
            self._trains_parameters = True
            self._kinds.clear()
            self._seen.clear()
        weights = (parameters or leaves)[:_MOST_WEIGHTS]
        if not weights:
            return None
        kind = self._kinds.setdefault(tuple(tuple(one.shape) for one in weights), len(self._kinds))
        with torch.no_grad():
            now = [_part(one) for one in weights]
            before = self._seen.get(kind)
            self._seen[kind] = now
            changed = before is not None and not all(map(torch.equal, before, now))
        return kind, changed

    def forget(self) -> None:
        self._seen.clear()


def _part(weight: Any) -> Any:
    """A copy of its first elements."""
    import torch

    functions = torch._C._functorch
    while functions.is_functorch_wrapped_tensor(weight):
        weight = functions.get_unwrapped(weight)
    weight = weight.detach()
    if hasattr(weight, "to_local"):
        weight = weight.to_local()
    return weight.reshape(-1)[:_MOST_ELEMENTS].clone()


def _leaves(roots: Iterable[Any]) -> list[Any]:
    """The first leaves of the graph behind these tensors, always in the same order."""
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(waiting)
    found: list[Any] = []
    while waiting and len(found) < _MOST_WEIGHTS and len(seen) < _MOST_NODES:
        node = waiting.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.append(leaf)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return found


def find_runs(runs: list[tuple[int, bool]]) -> tuple[int, int] | None:
    """How many backward passes a training step has, and the place in its step, from 0, of the last one of `runs`; None
    while more must be seen. Pure.

    `runs`: the kind of weights of each backward pass, and whether they were found changed when it began.
    """
    kinds = {kind for kind, _ in runs}
    updated = {kind for kind, changed in runs if changed}
    if len(kinds) == 1:
        begins = [at for at, (_, changed) in enumerate(runs) if changed]
        gaps = [after - before for before, after in zip(begins, begins[1:], strict=False)]
        if len(begins) >= _LEAST_UPDATES and (gaps[-1] == gaps[-2] or len(runs) >= _MOST_RUNS):
            return gaps[-1], len(runs) - 1 - begins[-1]
        return None
    if updated != kinds and len(runs) < _MOST_RUNS:
        return None
    rows = [kind for kind, _ in runs if kind in updated]
    found = find_period(rows, len(updated))
    if found is None or not found[0] or len(rows) < len(runs):
        return None
    period, stepped = found
    return len(period), (stepped - 1) % len(period)
