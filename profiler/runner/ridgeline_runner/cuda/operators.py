"""The operators that torch takes on a CUDA device, for tensors of the host: so a step can be listed as it would run
there. They have no kernels here: operation_log makes their results without computing them, or, in a step that goes on
computing, lets the host's operators compute them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

OF_CUDA = frozenset(  # that the host has no kernels for
    f"aten::{name}{direction}"
    for name in (
        "cudnn_batch_norm",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_flash_attention",
    )
    for direction in ("", "_backward")
)
_HALF = ("torch.float16", "torch.bfloat16")
_FOREACH = "_get_foreach_kernels_supported_devices"  # of torch


@contextlib.contextmanager
def chosen() -> Iterator[None]:
    """Inside, dropout, attention and batch normalisation are the fused operators of CUDA devices, and optimizers and
    the clipping of gradients work on lists of tensors where these are the default there. Recurrent layers stay the
    host's."""
    import torch
    from torch.optim import optimizer
    from torch.utils import _foreach_utils

    library = torch.library.Library("aten", "IMPL", "AutogradCPU")
    for name, function in (
        ("dropout", _dropout),
        ("scaled_dot_product_attention", _attention),
        ("batch_norm", _batch_norm),
    ):
        library.impl(name, function)
    places = [module for module in (optimizer, _foreach_utils) if hasattr(module, _FOREACH)]
    with contextlib.ExitStack() as patches:
        for module in places:
            patches.enter_context(mock.patch.object(module, _FOREACH, lambda: ["cpu"]))
        try:
            yield
        finally:
            library._destroy()


def on_host(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of an operator of OF_CUDA on tensors of the host, by its own kernels; of attention without dropout,
    which the host's fused one does not have. Raises what those kernels refuse."""
    import torch

    aten = torch.ops.aten
    name = func._schema.name.removeprefix("aten::")
    if name == "cudnn_batch_norm":
        return (*aten.native_batch_norm(*args), args[0].new_empty(0, dtype=torch.uint8))
    if name == "cudnn_batch_norm_backward":
        x, gradient, weight, mean, var, save_mean, save_var, eps, _ = args
        return aten.native_batch_norm_backward(
            gradient, x, weight, mean, var, save_mean, save_var, True, eps, [True, True, True]
        )
    names = [argument.name for argument in func._schema.arguments]
    given = {argument.name: argument.default_value for argument in func._schema.arguments}
    given |= dict(zip(names, args, strict=False)) | kwargs
    options = {"attn_mask": given.get("attn_bias"), "scale": given["scale"]}
    q, k, v, is_causal = given["query"], given["key"], given["value"], given["is_causal"]
    if not name.endswith("_backward"):
        out, sums = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, is_causal, **options)
        seed, nothing = torch.zeros((), dtype=torch.int64), q.new_empty(0)
        if name == "_scaled_dot_product_efficient_attention":
            return out, sums, seed, seed.clone()
        return out, sums, None, None, q.shape[2], k.shape[2], seed, seed.clone(), nothing
    gradient = given.get("grad_out_", given.get("grad_out"))
    gradients = aten._scaled_dot_product_flash_attention_for_cpu_backward(
        gradient, q, k, v, given["out"], given["logsumexp"], 0.0, is_causal, **options
    )
    if name == "_scaled_dot_product_flash_attention_backward":
        return gradients
    bias = given["attn_bias"]
    return (*gradients, torch.zeros_like(bias) if bias is not None and given["grad_input_mask"][3] else None)


def _dropout(x: Any, p: float, train: bool) -> Any:
    import torch

    if not train or p == 0 or x.numel() == 0:
        return x
    if p == 1:
        return x * torch.zeros_like(x)
    return torch.ops.aten.native_dropout(x, p, True)[0]


def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float, cudnn: bool
) -> Any:
    import torch

    takes_it = cudnn and weight is not None and bias is not None and x.dtype != torch.bfloat16 and x.numel() > 0
    operator = torch.ops.aten.cudnn_batch_norm if takes_it else torch.ops.aten.native_batch_norm
    return operator(x, weight, bias, mean, var, training, momentum, eps)[0]


def _attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Flash attention in half precision without a mask, the memory-efficient one else; without either, the formula."""
    import torch

    aten = torch.ops.aten
    if q.dim() != 4 or enable_gqa or q.dtype == torch.float64:
        return aten._scaled_dot_product_attention_math(
            q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )[0]
    if str(q.dtype) in _HALF and attn_mask is None:
        return aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal, scale=scale)[0]
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            hidden = attn_mask.logical_not()
            attn_mask = torch.zeros_like(attn_mask, dtype=q.dtype).masked_fill_(hidden, float("-inf"))
        attn_mask = attn_mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    needs_gradient = torch.is_grad_enabled() and any(one.requires_grad for one in (q, k, v))
    return aten._scaled_dot_product_efficient_attention(
        q, k, v, attn_mask, needs_gradient, dropout_p, is_causal, scale=scale
    )[0]
