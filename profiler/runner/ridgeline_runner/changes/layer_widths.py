"""Another width of a layer, and the widths that follow from it: each layer that gets inputs of another width is made
anew for them.

Which ones those are is found by running the changed step once without computing it. A layer keeps its instance, so that
whoever refers to it finds it, and gets new parameters; that is done before the iteration provider constructs its
optimizer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ridgeline_runner.changes.change import Change, NotApplicable, Parts, whole_number
from ridgeline_runner.common.failure import release, summary
from ridgeline_runner.step import operation_log

# By the model's index and the path of a module in it: the width of its inputs.
Widths = dict[tuple[int, str], int]


@dataclass(frozen=True)
class _Kind:
    """How a class of layers names its widths; `reads`: the dimension of its input that has the width."""

    width_in: str
    width_out: str
    reads: int


def _kind_of(module: Any) -> _Kind | None:
    """None: not a layer whose width can be changed. Of subclasses it is not known what their parameters are for."""
    from torch import nn

    kind = type(module)
    if kind is nn.Linear:
        return _Kind("in_features", "out_features", -1)
    if kind in (nn.Conv1d, nn.Conv2d, nn.Conv3d):
        return _Kind("in_channels", "out_channels", 1)
    if kind in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):
        return _Kind("num_features", "num_features", 1)
    if kind is nn.LayerNorm:
        return _Kind("normalized_shape", "normalized_shape", -1)
    if kind is nn.GroupNorm:
        return _Kind("num_channels", "num_channels", 1)
    if kind is nn.Embedding:
        return _Kind("", "embedding_dim", 0)
    return None


class Width(Change):
    """`set:MODULE:ATTRIBUTE=N`: another width of what a layer returns. A class in place of MODULE stands for its
    instances but the last one, which usually makes the model's output."""

    reshapes = True
    usage = "write set:MODULE:ATTRIBUTE=N, such as set:fc1:out_features=1024 or set:Linear:out_features=1024"

    def on_models(self, parts: Parts) -> None:
        name, _, assignment = self.argument.rpartition(":")
        attribute, _, value = assignment.partition("=")
        if not name or not attribute:
            raise NotApplicable(self.usage)
        width = whole_number(value, f"set:{name}:{attribute}=N, as set:{name}:{attribute}", least=1)
        for path, module in _chosen(parts, name):
            kind = _kind_of(module)
            if kind is None or attribute != kind.width_out:
                of = f": it has {kind.width_out}" if kind else ""
                raise NotApplicable(
                    f"{attribute} of {path} ({type(module).__name__}) is not a width that can be set{of}"
                )
            _resize(parts.models, path, module, **{attribute: width})


def _chosen(parts: Parts, name: str) -> list[tuple[str, Any]]:
    of_class = [
        (path, module)
        for model in parts.models
        for path, module in model.named_modules()
        if type(module).__name__ == name
    ]
    if not of_class:
        return [(name, parts.module(name))]
    if len(of_class) == 1:
        raise NotApplicable(f"{of_class[0][0]} is the only {name}, and so the model's output: name it to set its width")
    return of_class[:-1]


def that_follow(built: Callable[[Callable[[list[Any]], None]], Parts]) -> Widths:
    """The widths of the inputs that layers get in the step that `built` returns. It calls its argument with the changed
    models before anything uses them. Raises NotApplicable naming the layer where shapes do not fit."""
    import torch

    widths: Widths = {}
    models: list[Any] = []

    def observe(changed: list[Any]) -> None:
        models.extend(changed)
        for index, model in enumerate(changed):
            for path, module in model.named_modules():
                if (kind := _kind_of(module)) is not None and kind.width_in:
                    module.register_forward_pre_hook(_follows(models, (index, path), kind, widths))

    state = torch.get_rng_state()
    try:
        parts = built(observe)
        operation_log.run_uncomputed(lambda: parts.function(*parts.inputs))
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the changed step raises is why it does not apply
        where, line = _layer_of(error, models), summary(error).strip().splitlines()[0][:200]
        release(error)
        raise NotApplicable(f"shapes do not fit {where}: {line}") from None
    finally:
        torch.set_rng_state(state)
    return widths


def _follows(models: list[Any], place: tuple[int, str], kind: _Kind, widths: Widths) -> Callable[..., None]:
    def adapt(module: Any, args: tuple[Any, ...]) -> None:
        import torch

        if not args or not isinstance(args[0], torch.Tensor) or args[0].dim() <= max(kind.reads, 0):
            return
        width = args[0].shape[kind.reads]
        if width != _width_of(module, kind.width_in):
            _resize(models, place[1], module, **{kind.width_in: width})
            widths[place] = width

    return adapt


def apply(models: list[Any], widths: Widths) -> None:
    """Gives the layers the widths that follow."""
    for (index, path), width in widths.items():
        module = models[index].get_submodule(path)
        kind = _kind_of(module)
        if kind is not None:
            _resize(models, path, module, **{kind.width_in: width})


def _width_of(module: Any, attribute: str) -> int:
    value = getattr(module, attribute)
    return value[-1] if isinstance(value, tuple) else value


def _resize(models: list[Any], path: str, module: Any, **widths: int) -> None:
    """New parameters, of the class's own initial values, for other widths. Raises NotApplicable."""
    name = f"{path} ({type(module).__name__})"
    if set(module._parameters) - {"weight", "bias"}:
        raise NotApplicable(f"{name} has parameters of its own kind: its width cannot be changed")
    for own in module._parameters.values():
        holders = [m for model in models for m in model.modules() if any(p is own for p in m._parameters.values())]
        if own is not None and len(holders) > 1:
            raise NotApplicable(f"{name} shares its weight with another module: its width cannot be changed alone")
    try:
        made = _like(module, widths)
    except (ValueError, RuntimeError) as error:
        raise NotApplicable(f"{name} cannot have another width: {error}") from None
    for key, parameter in made._parameters.items():
        if parameter is not None:
            parameter.requires_grad_(module._parameters[key].requires_grad)
        module._parameters[key] = parameter
    module._buffers.update(made._buffers)
    for attribute in _SIZES:
        if hasattr(made, attribute):
            setattr(module, attribute, getattr(made, attribute))


_SIZES = (
    *("in_features", "out_features", "in_channels", "out_channels", "groups"),
    *("num_features", "num_channels", "normalized_shape", "embedding_dim"),
)


def _like(module: Any, widths: dict[str, int]) -> Any:
    """A layer as `module` is, but for its widths."""
    options = {name: getattr(module, name) for name in _arguments(module)} | widths
    if "groups" in options and module.groups == module.in_channels > 1 and "in_channels" in widths:
        # Depthwise: each channel stays one of its own.
        options["groups"] = widths["in_channels"]
        options["out_channels"] = widths["in_channels"] * (module.out_channels // module.in_channels)
    if "normalized_shape" in options and isinstance(options["normalized_shape"], int):
        options["normalized_shape"] = (*module.normalized_shape[:-1], options["normalized_shape"])
    if "bias" in options:
        options["bias"] = module.bias is not None
    parameter = next((p for p in module._parameters.values() if p is not None), None)
    if parameter is not None:
        options |= {"device": parameter.device, "dtype": parameter.dtype}
    return type(module)(**options).train(module.training)


def _arguments(module: Any) -> Iterator[str]:
    """The arguments of the constructor that an instance has as attributes."""
    import inspect

    for name in inspect.signature(type(module).__init__).parameters:
        if name != "self" and not name.startswith("_") and hasattr(module, name):
            yield name


def _layer_of(error: BaseException, models: list[Any]) -> str:
    """The innermost module whose code raised it."""
    names = {id(m): f"{path} ({type(m).__name__})" for model in models for path, m in model.named_modules() if path}
    place = "outside of the model's layers"
    traceback = error.__traceback__
    while traceback is not None:
        name = names.get(id(traceback.tb_frame.f_locals.get("self")))
        place = f"in {name}" if name else place
        traceback = traceback.tb_next
    return place
