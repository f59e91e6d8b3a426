"""Which models a script trains, of all the modules that its watched step has called."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from typing import Any


def trained_models(called: Mapping[int, Any], optimizers: Iterable[Any]) -> tuple[Any, ...]:
    """Those called in the step whose parameters an optimizer has; without optimizers of torch, all with some that get
    gradients, else all with some."""
    owned = {id(p) for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
    models = [
        model
        for model in called.values()
        if any(id(parameter) in owned if owned else parameter.requires_grad for parameter in model.parameters())
    ]
    if not owned and not models:
        models = [model for model in called.values() if next(model.parameters(), None) is not None]
    if owned and not models:  # they are called in compiled code, where nothing is seen
        models = _models_with(owned)
    return tuple(
        model for model in models if not any(model is not other and model in set(other.modules()) for other in models)
    )


def _models_with(parameters: set[int]) -> list[Any]:
    """All modules that have one of these parameters, by id, and are not part of another module."""
    import torch

    modules = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.nn.Module)]
    inner = {id(child) for module in modules for child in module.children()}
    outer = [module for module in modules if id(module) not in inner]
    return [module for module in outer if any(id(parameter) in parameters for parameter in module.parameters())]
