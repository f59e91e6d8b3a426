"""The forward passes of a step that is watched: which models the script calls, and how many samples lead to gradients.

A model that is called several times at one place of the script, as when gradients are accumulated, trains the sum; what
is called at different places, as the two sides of a pair, shares its samples. Modules without weights, as a loss, which
may get a row for each token, count only where the script calls no others.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ridgeline_runner.script.backward_watch import Backward
from ridgeline_runner.script.batch_dimension import Samples, samples_in
from ridgeline_runner.step.entry import tensors_in

_MOST_CALLS = 4096
_MOST_NODES = 200_000  # of the graph of one backward pass
_MOST_FRAMES = 64
_PROBED_NODES = 64
_OF_MOST = 0.6  # part of the intermediate results that have the same first dimension

Place = tuple[Any, ...]


@dataclass(eq=False)
class _Call:
    place: Place
    samples: Samples
    first: Any  # the first tensor of its inputs: the same one again is the same samples, in an optimizer's closure
    rows: int  # of that tensor, whether samples or time come first
    nodes: set[Any]
    has_weights: bool
    trains: bool = False


@dataclass(frozen=True)
class Probe:
    """A node of the graph behind a loss whose first dimension is that of the samples, as steps from the loss."""

    path: tuple[tuple[int, str], ...]
    samples: int

    def read(self, roots: Iterable[Any]) -> int | None:
        for root in roots:
            node = root.grad_fn
            for at, name in self.path:
                following = node.next_functions if node is not None else ()
                node = following[at][0] if at < len(following) else None
                if node is None or node.name() != name:
                    return None
            return _first_dimension(node)
        return None


@dataclass
class ForwardSamples:
    """The samples in the forward passes of one step, from watch() until found()."""

    roots: dict[int, Any] = field(default_factory=dict)  # modules that the script calls itself, by id
    backwards: int = 0
    _calls: list[_Call] = field(default_factory=list)
    _parts: list[dict[Place, Samples]] = field(default_factory=list)  # between two steps of optimizers
    _shapes: Counter[int] = field(default_factory=Counter)
    _probes: list[Probe | None] = field(default_factory=list)
    _open: list[Any] = field(default_factory=list)
    _stepped: set[int] = field(default_factory=set)  # optimizers, by id
    _varies: str = ""  # why the samples of the calls are uncertain
    _runs_closure: bool = False
    _by_layout: int = 0  # samples, by a module that takes them in the second dimension
    _thread: int = field(default_factory=threading.get_ident)

    # ---- what a step does --------------------------------------------------------------------------------------------

    def before(self, module: Any, arguments: Any, keywords: Any = None) -> None:
        if threading.get_ident() != self._thread:
            return
        if not self._open and not _is_compiled_graph(module):
            self.roots.setdefault(id(module), module)
        self._open.append(module)
        with contextlib.suppress(Exception):
            self._by_layout = _second_dimension(module, arguments) or self._by_layout

    def after(self, module: Any, arguments: Any, keywords: Any, output: Any) -> None:
        if threading.get_ident() != self._thread or not self._open:
            return
        self._open.pop()
        if not self._open and not _is_compiled_graph(module):
            with contextlib.suppress(Exception):
                self._add_call(module, arguments, keywords, output)
            self._by_layout = 0

    def _add_call(self, module: Any, arguments: Any, keywords: Any, output: Any) -> None:
        import torch

        if not torch.is_grad_enabled() or len(self._calls) >= _MOST_CALLS:
            return
        given = tensors_in((arguments, keywords))
        samples = _packed((arguments, keywords)) or samples_in(given)
        if self._by_layout and any(one.dim() > 1 and one.shape[1] == self._by_layout for one in given):
            samples = Samples(self._by_layout)
        nodes = {one.grad_fn for one in tensors_in(output) if one.grad_fn is not None}
        if samples is not None and nodes:
            has_weights = next(module.parameters(), None) is not None
            first = given[0] if given else None
            rows = max((int(size) for size in first.shape[:2]), default=1) if first is not None else 1
            self._calls.append(_Call(_place(), samples, first, rows, nodes, has_weights))

    def backward_begins(self, backward: Backward) -> None:
        if backward.gives_graph:
            return
        self.backwards += 1
        waiting = [root.grad_fn for root in backward.roots if root.grad_fn is not None]
        open_calls = [call for call in self._calls if not call.trains]
        seen = set(waiting)
        while waiting and len(seen) < _MOST_NODES:
            node = waiting.pop()
            first = _first_dimension(node)
            if first is not None and node.name() not in ("torch::autograd::AccumulateGrad", "TBackward0"):
                self._shapes[first] += 1
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    waiting.append(following)
        trained = [call for call in open_calls if not call.nodes.isdisjoint(seen)]
        for call in trained:
            call.trains = True
        trained = _of_models(trained)
        sums: Counter[Place] = Counter()
        for call in trained:
            sums[call.place] += call.samples.count
        totals = set(sums.values())
        self._probes.append(_probe(backward.roots, totals.pop()) if len(totals) == 1 else None)
        if len(sums) < len(trained) and self._probes[-1] is None:
            self._varies = "before one backward pass the model is called several times, which may differ in other steps"

    def part_ended(self, optimizer: int = 0, *, closure: bool = False) -> None:
        """An optimizer has stepped; with a `closure`, the same inputs again are the same samples."""
        self._runs_closure = self._runs_closure or closure
        part: dict[Place, Samples] = {}
        seen: list[Any] = []
        trained = [call for call in self._calls if call.trains]
        models = _of_models(trained)
        for call in models:
            if closure and any(call.first is one for one in seen):
                continue
            seen.append(call.first)
            before = part.get(call.place, Samples(0))
            part[call.place] = Samples(before.count + call.samples.count, before.doubt or call.samples.doubt)
        if part:
            self._parts.append(part)
            most = max(one.count for one in part.values())
            if models[0].has_weights:
                self._compare_losses(most, [call for call in trained if not call.has_weights])
            if optimizer in self._stepped:
                self._varies = "an optimizer steps several times in it, with so many samples each time"
            self._stepped.add(optimizer)
        self._calls.clear()

    def _compare_losses(self, samples: int, losses: Iterable[_Call]) -> None:
        rows: Counter[Place] = Counter()
        for call in losses:
            rows[call.place] += call.rows
        least = min(rows.values(), default=samples)
        if least < samples:
            self._varies = f"the model was called with {samples} samples, and the loss with {least}"

    # ---- what it shows -----------------------------------------------------------------------------------------------

    def found(self) -> Samples | None:
        """After the step: the samples that led to its gradients; None where no module was called."""
        self.part_ended()
        by_part = [max(part.values(), key=lambda one: one.count) for part in self._parts]
        if by_part:
            most = max(by_part, key=lambda one: one.count)
            counts = sorted({one.count for part in self._parts for one in part.values()})
            if len(counts) > 1 and not most.doubt:
                named = " and ".join(map(str, counts[:4]))
                return Samples(most.count, f"the calls of its models that lead to gradients got {named} samples")
            return Samples(most.count, most.doubt or self._varies)
        total = sum(self._shapes.values())
        if not total:
            return None
        first, count = self._shapes.most_common(1)[0]
        if first < 1 or count < _OF_MOST * total:
            return None
        return Samples(
            first * max(1, self.backwards), "it calls no module, and most of its results have that many rows"
        )

    def probe(self) -> Probe | None:
        """Reads the samples of a backward pass in later steps; None where the passes of the step differ."""
        probes = set(self._probes) if not self._runs_closure else set()  # it runs more or less often
        return probes.pop() if len(probes) == 1 else None


def _of_models(calls: list[_Call]) -> list[_Call]:
    """The calls of modules with weights, if there are any, else all."""
    return [call for call in calls if call.has_weights] or calls


def _probe(roots: Iterable[Any], samples: int) -> Probe | None:
    """The first node, breadth first, whose results have so many rows."""
    for root in roots:
        waiting: list[tuple[Any, tuple[tuple[int, str], ...]]] = [(root.grad_fn, ())]
        for node, path in waiting:
            if node is None or len(waiting) > _PROBED_NODES:
                break
            if _first_dimension(node) == samples:
                return Probe(path, samples)
            following = enumerate(node.next_functions)
            waiting += [(one, (*path, (at, one.name()))) for at, (one, _) in following if one is not None]
        return None
    return None


def _first_dimension(node: Any) -> int | None:
    for metadata in getattr(node, "_input_metadata", ()):
        shape = metadata.shape
        return int(shape[0]) if len(shape) > 0 else None
    return None


def _second_dimension(module: Any, arguments: Any) -> int:
    """The samples of a recurrent or an attention module that takes sequences first; 0: it does not."""
    import torch

    kinds = (torch.nn.RNNBase, torch.nn.MultiheadAttention)
    if not isinstance(module, kinds) or module.batch_first or not arguments:
        return 0
    first = arguments[0]
    return int(first.shape[1]) if isinstance(first, torch.Tensor) and first.dim() == 3 else 0


def _packed(values: Any) -> Samples | None:
    """The samples in sequences of different length that are packed into one tensor."""
    import torch

    arguments, keywords = values
    for one in (*arguments, *keywords.values()):
        if isinstance(one, torch.nn.utils.rnn.PackedSequence):
            return Samples(int(one.batch_sizes[0]))
    return None


def _is_compiled_graph(module: Any) -> bool:
    """A graph that torch.compile has made, which some of its backends call as a module. Weights are inputs of it."""
    graphs = sys.modules.get("torch.fx.graph_module")
    return graphs is not None and isinstance(module, graphs.GraphModule) and next(module.parameters(), None) is None


def _place() -> Place:
    """Where the script calls a module: the instructions of the stack."""
    lines = []
    frame = sys._getframe(3)
    while frame is not None and len(lines) < _MOST_FRAMES:
        lines.append((id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    return tuple(lines)
