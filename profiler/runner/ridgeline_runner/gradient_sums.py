"""Sums of gradients of one tensor.

Autograd adds a gradient to the one before it in place where nobody else refers to that one (InputBuffer in
torch/csrc/autograd/input_buffer.cpp), but under a dispatch mode it never does: what a mode sees is another operation,
which needs more memory.
"""

from __future__ import annotations

import functools
from typing import Any


def is_in_place(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether autograd would call `add_` without the dispatch mode that sees this call. Call references() before."""
    import torch

    if function is not torch.ops.aten.add.Tensor or kwargs or len(args) != 2:
        return False
    if torch._C._current_graph_task_id() == -1 or torch.is_grad_enabled():
        return False
    first, second = args
    if not all(type(one) is torch.Tensor and one.layout == torch.strided for one in args):
        return False
    same = first.shape == second.shape and first.dtype == second.dtype
    dense = torch.ops.aten.is_non_overlapping_and_dense(first)
    return same and dense and _references_to(first) == references()


def _references_to(tensor: Any) -> tuple[int, int]:
    """To the tensor, and to its storage."""
    import torch

    return tensor._use_count(), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


@functools.cache
def references() -> tuple[int, int]:
    """Those that a dispatch mode finds of a gradient that nobody else refers to. Zeros where torch does not tell."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    found = [(0, 0)]

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            if func is torch.ops.aten.add.Tensor and torch._C._current_graph_task_id() != -1:
                found.append(_references_to(args[0]))
            return func(*args, **(kwargs or {}))

    if not hasattr(torch.Tensor, "_use_count") or not hasattr(torch._C, "_storage_Use_Count"):
        return 0, 0
    with torch.enable_grad(), Counted():
        one = torch.ones(2, requires_grad=True)
        torch.autograd.backward((one.sin() + one.exp()).sum())
    return found[-1]
