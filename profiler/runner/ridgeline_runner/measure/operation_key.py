"""How an operation is called, as text: what its time depends on. And such a call, made again with other data.

A key is compact JSON: `[operator, positional arguments, keyword arguments]`. A tensor is "t:dtype:sizes:strides", with
":device" where it is not on the CPU, and ":pinned" where it is in the host's pinned memory, or on "meta", which stands
for that (changes/offload.py); a dtype is "d:float32", other values of torch are "v:torch.channels_last"; texts
are "s:...". Numbers that only scale data are rounded, so that the same operation of two steps has one key.
"""

from __future__ import annotations

import json
from typing import Any

MAX_KEY = 1 << 18  # characters; an operation with a longer one is not described
_KEPT_WHOLE = 16  # floating-point numbers that are whole and at most this are exponents, ratios, switches: kept


class NotDescribed(Exception):
    """The call has an argument that cannot be written down: why."""


def key_of(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The key of a call of an `OpOverload`. Raises NotDescribed."""
    name = f"{operator._schema.name}.{operator._overloadname}"
    if name == _BATCH_NORM_BACKWARD:  # how much memory its forward fills, only cuDNN knows
        args = (*args[:-1], args[-1][:0])
    described = [name, [_describe(value) for value in args], {k: _describe(v) for k, v in kwargs.items()}]
    text = json.dumps(described, separators=(",", ":"))
    if len(text) > MAX_KEY:
        raise NotDescribed("too many arguments")
    return text


def _describe(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return _describe_tensor(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, str):
        return f"s:{value}"
    if isinstance(value, (list, tuple)):
        return [_describe(item) for item in value]
    if isinstance(value, torch.dtype):
        return f"d:{str(value).removeprefix('torch.')}"
    if isinstance(value, (torch.memory_format, torch.layout)):
        return f"v:{value}"
    if isinstance(value, torch.device):
        return f"v:device:{'cpu' if value.type == 'meta' else value}"
    raise NotDescribed(f"an argument of type {type(value).__name__}")


def _describe_tensor(tensor: Any) -> str:
    import torch

    if tensor.layout != torch.strided or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise NotDescribed("a tensor that is sparse, quantized or of a class of its own")
    dtype = str(tensor.dtype).removeprefix("torch.")
    sizes = ",".join(map(str, tensor.shape))
    strides = ",".join(map(str, tensor.stride()))
    return f"t:{dtype}:{sizes}:{strides}{_place_of(tensor)}"


def _place_of(tensor: Any) -> str:
    if tensor.device.type == "cpu":
        return ":pinned" if tensor.is_pinned() else ""
    return ":pinned" if tensor.device.type == "meta" else f":{tensor.device.type}"


def _rounded(value: float) -> float:
    if value == int(value) if abs(value) <= _KEPT_WHOLE else False:
        return value
    return 0.5 if value > 0 else -0.5


class Call:
    """A call made from its key: its arguments hold data of the right kind. Raises whatever torch does."""

    def __init__(self, key: str) -> None:
        import torch

        name, args, kwargs = json.loads(key)
        self.operator = operator_named(name)
        self.device = "cpu"
        self._bound = _index_bound(args)
        self.args = tuple(self._build(value) for value in args)
        self.kwargs = {k: self._build(v) for k, v in kwargs.items()}
        if name == _RECURRENT:
            self.operator = torch.enable_grad()(self.operator)  # without it, there is no workspace for backward
        elif name == _RECURRENT_BACKWARD:
            self.args = _with_results_of_forward(self.args)
        elif name == _EFFICIENT_BACKWARD:
            self.args = _with_efficient_attention(self.args, self.kwargs)
        elif name == _FLASH_BACKWARD:
            self.args = _with_flash_attention(self.args, self.kwargs)
        elif name == _BATCH_NORM_BACKWARD:
            self.args = _with_batch_norm(self.args)

    def run(self) -> Any:
        return self.operator(*self.args, **self.kwargs)

    def _build(self, value: Any) -> Any:
        import torch

        if isinstance(value, list):
            return [self._build(item) for item in value]
        if not isinstance(value, str):
            return value
        kind, _, rest = value.partition(":")
        if kind == "s":
            return rest
        if kind == "d":
            return getattr(torch, rest)
        if kind == "v":
            return torch.device(rest.removeprefix("device:")) if rest.startswith("device:") else _torch_value(rest)
        return self._tensor(rest)

    def _tensor(self, described: str) -> Any:
        import torch

        dtype, sizes, strides, *device = described.split(":")
        shape, steps = _numbers(sizes), _numbers(strides)
        count = 1 + sum((size - 1) * step for size, step in zip(shape, steps, strict=True)) if 0 not in shape else 0
        if device == ["pinned"]:
            return _filled(count, getattr(torch, dtype), self._bound, "cpu").pin_memory().as_strided(shape, steps)
        if device:
            self.device = device[0]
        place = device[0] if device else "cpu"
        return _filled(count, getattr(torch, dtype), self._bound, place).as_strided(shape, steps)


_RECURRENT = "aten::mkldnn_rnn_layer.default"
_RECURRENT_BACKWARD = "aten::mkldnn_rnn_layer_backward.default"


def _with_results_of_forward(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a recurrent layer's backward, with the output, the last states and the workspace that its
    forward makes of the same input: the workspace holds oneDNN's own data."""
    import torch

    inputs, (reverse, mode, hidden, layers, biases, train, both_ways, batches, batch_first) = args[:7], args[13:22]
    with torch.enable_grad():
        output, hy, cy, workspace = operator_named(_RECURRENT)(
            *inputs, reverse, batches, mode, hidden, layers, biases, both_ways, batch_first, train
        )
    return (*inputs, output, hy, cy, *args[10:22], workspace)


_EFFICIENT_BACKWARD = "aten::_scaled_dot_product_efficient_attention_backward.default"
_BATCH_NORM_BACKWARD = "aten::cudnn_batch_norm_backward.default"
_FLASH_BACKWARD = "aten::_scaled_dot_product_flash_attention_backward.default"


def _with_efficient_attention(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of attention's backward, with the results that its forward has for the same input: one of them is
    the state of the random numbers, which the kernel reads from memory."""
    import torch

    inputs, (dropout, mask, causal) = args[:5], args[9:12]
    forward = torch.ops.aten._scaled_dot_product_efficient_attention
    return (*inputs, *forward(*inputs[1:], True, dropout, causal, **kwargs), dropout, mask, causal)


def _with_flash_attention(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """As _with_efficient_attention()."""
    import torch

    inputs, (dropout, causal) = args[:4], args[10:12]
    made = torch.ops.aten._scaled_dot_product_flash_attention(*inputs[1:], dropout, causal, False, **kwargs)
    return (*inputs, *made[:6], dropout, causal, *made[6:8])


def _with_batch_norm(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of the backward of cuDNN's batch normalisation, with memory that its forward fills."""
    import torch

    x, _, weight, mean, var, *_, eps, _ = args
    made = torch.ops.aten.cudnn_batch_norm(x, weight, torch.zeros_like(weight), mean, var, True, 0.5, eps)
    return (*args[:5], *made[1:3], eps, made[3])


def bytes_of(key: str) -> int:
    """Memory that the arguments of a call take, without making them."""
    import torch

    total = 0
    waiting = [json.loads(key)[1:]]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str) and value.startswith("t:"):
            _, dtype, sizes, strides, *_ = value.split(":")
            shape, steps = _numbers(sizes), _numbers(strides)
            if 0 not in shape:
                extent = 1 + sum((size - 1) * step for size, step in zip(shape, steps, strict=True))
                total += extent * torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    return total


def operator_named(name: str) -> Any:
    """The OpOverload of "aten::mm.default". Raises AttributeError where this torch has none."""
    import torch

    qualified, _, overload = name.rpartition(".")
    namespace, _, operator = qualified.partition("::")
    return getattr(getattr(getattr(torch.ops, namespace), operator), overload)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",")) if text else ()


def _filled(count: int, dtype: Any, bound: int, device: str) -> Any:
    import torch

    if dtype == torch.bool:
        return torch.rand(count, device=device) > 0.5
    if dtype.is_floating_point or dtype.is_complex:  # positive, and far from denormal numbers
        return torch.rand(count, dtype=torch.float32, device=device).add_(0.5).to(dtype)
    return torch.randint(0, bound, (count,), dtype=dtype, device=device)


def _index_bound(args: list[Any]) -> int:
    """Integers may be indices into any dimension of the other tensors: below the smallest that is not 1."""
    smallest = 128
    for value in args:
        if isinstance(value, str) and value.startswith("t:"):
            _, dtype, sizes, *_ = value.split(":")
            if "int" not in dtype:
                smallest = min([smallest, *(size for size in _numbers(sizes) if size > 1)])
    return max(1, smallest)


def _torch_value(text: str) -> Any:
    import torch

    return getattr(torch, text.removeprefix("torch."))
