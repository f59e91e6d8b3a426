"""Changes of what is kept from forward to backward, made to single modules: checkpointing and offload."""

from __future__ import annotations

import functools
import re
from typing import Any

from ridgeline_runner.changes.change import Change, Function, NotApplicable, Parts, Way
from ridgeline_runner.changes.offload import offloaded


class _OfModules(Change):
    """A change of the modules that are named, or of all modules of the class that repeats and holds most parameters."""

    name = ""

    def on_models(self, parts: Parts) -> None:
        modules = [parts.module(n) for n in names_in(self.argument)] if self.argument else _repeated(parts.models)
        if not modules:
            raise NotApplicable(f"no kind of module is repeated; name one, as {self.name}:MODULE")
        forwards = [self.changed(module.forward, parts) for module in modules]
        parts.changed_modules += modules
        for module, forward in zip(modules, forwards, strict=True):
            module.forward = forward

    def changed(self, forward: Function, parts: Parts) -> Function:
        """What a module's forward becomes."""
        raise NotImplementedError


class Checkpoint(_OfModules):
    """Activation checkpointing."""

    name = "checkpoint"

    def changed(self, forward: Function, parts: Parts) -> Function:
        del parts
        return _checkpointed(forward, self.options())

    def options(self) -> dict[str, Any]:
        """Keyword arguments for torch.utils.checkpoint.checkpoint."""
        return {}


class SelectiveCheckpoint(Checkpoint):
    """The same, but the results of matrix products, convolutions and attention are kept: only what is cheap runs
    again."""

    name = "selective-checkpoint"
    kept = frozenset({"mm", "addmm", "bmm", "baddbmm", "convolution", "mkldnn_rnn_layer"})

    def options(self) -> dict[str, Any]:
        try:
            from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
        except ImportError:
            raise NotApplicable("this version of torch has no selective checkpointing: it needs 2.4 or newer") from None

        def policy(_: Any, operation: Any, *args: Any, **kwargs: Any) -> Any:
            name = operation._schema.name.removeprefix("aten::")
            is_kept = name in self.kept or name.startswith("_scaled_dot_product")
            return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE

        return {"context_fn": functools.partial(create_selective_checkpoint_contexts, policy)}


class Offload(_OfModules):
    """What backward needs of the modules is in the host's memory meanwhile."""

    name = "offload"

    def changed(self, forward: Function, parts: Parts) -> Function:
        devices = {p.device.type for model in parts.models for p in model.parameters()} - {"cpu", "meta"}
        if not devices and parts.way is not Way.LISTED_FOR_CUDA:
            raise NotApplicable("the model is on the CPU: what backward needs is in the host's memory already")
        return offloaded(forward, min(devices, default="cuda"), is_run=parts.way is Way.RUN)


def _checkpointed(forward: Function, options: dict[str, Any]) -> Function:
    import torch
    from torch.utils.checkpoint import checkpoint

    @functools.wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled():
            return checkpoint(forward, *args, use_reentrant=False, **options, **kwargs)
        return forward(*args, **kwargs)

    return run


_MOST_IN_RANGE = 4096
_RANGE = re.compile(r"(.*?)(\d{1,6})\.\.(\d{1,6})")


def names_in(argument: str) -> list[str]:
    """The modules of `h.0,h.4..6`: h.0, h.4, h.5 and h.6. Raises NotApplicable."""
    names = []
    for name in argument.split(","):
        numbered = _RANGE.fullmatch(name)
        if numbered is None:
            names.append(name)
            continue
        prefix, first, last = numbered[1], int(numbered[2]), int(numbered[3])
        if not first <= last < first + _MOST_IN_RANGE:
            raise NotApplicable(f"{name} is no range of modules: write it as layers.0..11")
        names += [f"{prefix}{number}" for number in range(first, last + 1)]
    return names


def _repeated(models: list[Any]) -> list[Any]:
    """The instances of the class with submodules that occurs at least twice, none inside another, and holds most
    parameters. Containers of torch, which stand for no layer, are none."""
    import torch

    container = torch.nn.Sequential.__module__
    best: list[Any] = []
    held = 0
    kinds: dict[type, list[Any]] = {}
    for model in models:
        for path, module in model.named_modules():
            has_children = next(module.children(), None) is not None
            if path and has_children and type(module).__module__ != container:
                kinds.setdefault(type(module), []).append(module)
    for modules in kinds.values():
        inside = {id(m) for module in modules for m in module.modules() if m is not module}
        outer = [module for module in modules if id(module) not in inside]
        size = sum(p.numel() for module in outer for p in module.parameters())
        if len(outer) > 1 and size > held:
            best, held = outer, size
    return best
