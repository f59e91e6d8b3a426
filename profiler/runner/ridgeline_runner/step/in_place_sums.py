"""Sums that torch computes in place, but not where a dispatch mode is on.

Autograd adds a gradient to the one before it in place where nobody else refers to that one (InputBuffer in
torch/csrc/autograd/input_buffer.cpp), and a linear layer likewise its bias (aten/src/ATen/native/Linear.cpp). Under a
dispatch mode neither does: what a mode sees is another operation, which needs more memory.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _References:
    """To a tensor that an operation gets, to its storage and to its Python object."""

    tensor: int
    storage: int
    python: int


@dataclass(frozen=True)
class Unshared:
    """The references that a dispatch mode finds to a first operand that nobody else refers to; None where torch has no
    such sum or does not tell."""

    gradient: _References | None = None
    product: _References | None = None


def is_in_place(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], unshared: Unshared) -> bool:
    """Whether torch would call `add_` without the dispatch mode that sees this call."""
    import torch

    if function is not torch.ops.aten.add.Tensor or kwargs or len(args) != 2:
        return False
    in_backward = torch._C._current_graph_task_id() != -1
    references = unshared.gradient if in_backward else unshared.product
    plain = (torch.Tensor, torch.nn.Parameter)
    if references is None or not all(type(one) in plain and one.layout == torch.strided for one in args):
        return False
    first, second = args
    if first.dtype != second.dtype or not torch.ops.aten.is_non_overlapping_and_dense(first):
        return False
    if in_backward:
        is_sum = first.shape == second.shape and not torch.is_grad_enabled()
    else:
        is_sum = second.dim() == 1 and first.dim() > 2 and first.shape[-1] == second.shape[0]
    return is_sum and _references_to(first) == references


def _references_to(tensor: Any) -> _References:
    """Called by the function that has the tensor in a variable, and in a tuple of arguments."""
    import torch

    storage = torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)
    return _References(tensor._use_count(), storage, sys.getrefcount(tensor))


@functools.cache
def find_unshared() -> Unshared:
    """For is_in_place(). Runs some operations on a few elements, once."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    found: list[_References] = []

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            if func is torch.ops.aten.add.Tensor:
                first, _ = args
                found.append(_references_to(first))
                del first
            return func(*args, **(kwargs or {}))

    needed = [(torch.Tensor, "_use_count"), (torch._C, "_storage_Use_Count")]
    needed.append((torch.ops.aten, "is_non_overlapping_and_dense"))
    if not all(hasattr(place, name) for place, name in needed):
        return Unshared()
    device = torch.device("cpu")
    with torch.inference_mode(False), torch.enable_grad(), Counted():
        one = torch.ones(2, device=device, requires_grad=True)
        torch.autograd.backward((one.sin() * one.exp()).sum())
        gradient = found.pop() if found else None
        transposed = torch.ones(2, 3, 2, device=device).transpose(0, 1)
        torch.nn.functional.linear(transposed, torch.ones(2, 2, device=device), torch.ones(2, device=device))
        product = found.pop() if found else None
    return Unshared(gradient, product)
