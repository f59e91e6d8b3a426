"""A change of a step that goes on, as a script takes it: switched on and off between two steps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ridgeline_runner.changes import built_in
from ridgeline_runner.changes.change import NotApplicable, Parts

# What has to be there before the script builds its step, and the words for it.
_WHEN_BUILT = {
    "set": "a layer of another width has to be there before the optimizer is made",
    "accumulate": "it changes the training loop itself",
    "batch-size": "other batch sizes of a script are measured by profiling it with them",
}


class LiveChange:
    """Changes that are made together. Constructed off; used between steps, on the thread that takes them."""

    def __init__(self, request: list[str], models: tuple[Any, ...], optimizers: list[Any]) -> None:
        """Raises NotApplicable."""
        for name in (part.partition(":")[0] for part in request):
            if name in _WHEN_BUILT:
                raise NotApplicable(
                    f"{_WHEN_BUILT[name]}; it can be tried in an entry point, which `ridgeline init` writes"
                )
        self._changes = [built_in.named(part) for part in request]
        self._parts = Parts(models, {}, 0, optimizers=optimizers)
        self._stack: contextlib.ExitStack | None = None
        self._on: _State | None = None  # what the changes make of the step; None: not known yet
        self._off: _State | None = None

    def on(self) -> None:
        """Raises NotApplicable the first time; then nothing is changed."""
        self._off = _State(self._parts)
        if self._on is None:
            try:
                self._make()
            except BaseException:
                self._off.restore()
                raise
        else:
            self._on.restore()
        for holder, key in self._parts.unused():
            holder[key].grad = None
        self._stack = self._parts.surroundings()

    def kept_storages(self) -> dict[int, int]:
        """While it is on: what is there only so that it can be taken back, bytes by address. A script that was written
        with the change would not have it: what modules that are taken out hold, and what optimizers have of what is not
        trained."""
        import torch

        unused = [holder[key] for holder, key in self._parts.unused()]
        without = [*unused, *(self._off.frozen() if self._off is not None else [])]
        states = [o.state[one] for o in self._parts.optimizers for one in without if one in o.state]
        tensors = [*unused, *(value for state in states for value in state.values())]
        storages = [one.untyped_storage() for one in tensors if isinstance(one, torch.Tensor)]
        return {one.data_ptr(): one.nbytes() for one in storages}

    def off(self) -> None:
        if self._stack is None or self._off is None:
            return
        self._stack.close()
        self._stack = None
        self._on = _State(self._parts)
        self._off.restore()

    def _make(self) -> None:
        for change in self._changes:
            change.on_models(self._parts)
        for change in self._changes:
            change.on_optimizers(self._parts)
        for change in self._changes:
            change.on_step(self._parts)
        _State(self._parts).restore()  # what optimizers keep of a parameter lies in memory as it does now


class _State:
    """What changes alter of a step: the options of optimizers, methods that instances have of their own, which
    parameters are trained, and how tensors lie in memory."""

    def __init__(self, parts: Parts) -> None:
        self._undo: list[Callable[[], None]] = []
        self._trained: list[Any] = []
        self._optimizers = parts.optimizers
        for optimizer in parts.optimizers:
            for index in range(len(optimizer.param_groups)):
                self._note_group(optimizer, index)
        modules = {id(module): module for model in parts.models for module in model.modules()}
        for module in modules.values():
            self._note_forward(module)
        parameters = {id(p): p for model in parts.models for p in model.parameters()}
        for parameter in parameters.values():
            self._note_training(parameter)
            self._note_layout(parameter)
        buffers = {id(b): b for model in parts.models for b in model.buffers()}
        for buffer in buffers.values():
            self._note_layout(buffer)

    def frozen(self) -> list[Any]:
        """The parameters that were trained and are no longer."""
        return [parameter for parameter in self._trained if not parameter.requires_grad]

    def restore(self) -> None:
        for undo in self._undo:
            undo()

    def _note_group(self, optimizer: Any, index: int) -> None:
        """By index: an optimizer that loads its state has other groups afterwards."""
        group = optimizer.param_groups[index]
        options = {name: group[name] for name in ("foreach", "fused") if name in group}
        self._undo.append(lambda: optimizer.param_groups[index].update(options))

    def _note_forward(self, module: Any) -> None:
        own = vars(module).get("forward")

        def undo() -> None:
            if own is not None:
                module.forward = own
            elif "forward" in vars(module):
                del module.forward

        self._undo.append(undo)

    def _note_training(self, parameter: Any) -> None:
        is_trained = parameter.requires_grad
        if is_trained:
            self._trained.append(parameter)

        def undo() -> None:
            if parameter.requires_grad != is_trained:
                parameter.requires_grad_(is_trained)
                parameter.grad = None

        self._undo.append(undo)

    def _note_layout(self, tensor: Any) -> None:
        """How a tensor, and what optimizers keep that is like it, lie in memory. By strides: a 1×1 kernel is contiguous
        in both formats, and its strides alone say which of the two a convolution takes."""
        import torch

        if tensor.dim() != 4 or tensor.layout != torch.strided or 0 in tensor.stride():
            return  # no change moves it, or it is an expanded one, which torch makes anew
        strides = tensor.stride()

        def undo() -> None:
            states = (optimizer.state.get(tensor, {}) for optimizer in self._optimizers)
            for alike in (value for state in states for value in state.values() if _is_like(value, tensor)):
                _lay_out(alike, strides)
            if _lay_out(tensor, strides) and tensor.grad is not None:
                tensor.grad = None

        self._undo.append(undo)


def _lay_out(tensor: Any, strides: tuple[int, ...]) -> bool:
    """Whether the tensor had other strides. The strides are those of a tensor of its shape."""
    import torch

    if tensor.stride() == strides:
        return False
    data = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    tensor.data = data.copy_(tensor.data)
    return True


def _is_like(value: Any, tensor: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.shape == tensor.shape
