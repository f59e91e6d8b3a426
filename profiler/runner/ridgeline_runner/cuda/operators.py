"""The operators that torch takes on a CUDA device, for tensors of the host: so a step can be listed as it would run
there. They have no kernels here: operation_log makes their results without computing them."""

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
