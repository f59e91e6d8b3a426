"""How many samples some tensors hold together. Pure but for reading shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Samples:
    """A number of samples; `doubt` says why it is uncertain, as the end of a sentence, and is empty where it is not."""

    count: int
    doubt: str = ""


def samples_in(tensors: Sequence[Any]) -> Samples | None:
    """The samples of a batch, or of what a model is called with: the first dimension of the tensors, as far as they
    agree. For a reshaped view of a whole tensor with more dimensions, that tensor's first dimension. None without a
    tensor that has a dimension."""
    nested = {int(tensor.size(0)) for tensor in tensors if tensor.is_nested}
    if len(nested) == 1:
        return Samples(nested.pop())
    shapes = [shape for shape in map(_shape, tensors) if shape]
    if not shapes:
        return None
    firsts = list(dict.fromkeys(shape[0] for shape in shapes))
    several = [first for first in firsts if first > 1] or firsts  # one of 1 is broadcast
    if len(several) == 1:
        return Samples(several[0])
    common = set(shapes[0]).intersection(*map(set, shapes[1:]))
    common.discard(1)
    named = ", ".join(map(str, several[:4]))
    doubt = f"its tensors have first dimensions of {named}"
    if len(common) == 1:
        return Samples(common.pop(), f"{doubt}, and this one in common")
    return Samples(several[0], doubt)


def _shape(tensor: Any) -> tuple[int, ...]:
    if tensor.is_nested:
        return (tensor.size(0),)
    shape = tuple(tensor.shape)
    whole = tensor._base if shape and tensor._is_view() else None
    if whole is None or whole.dim() <= len(shape) or whole.numel() != tensor.numel():
        return shape
    flattened = whole.shape[0]
    return (flattened, *shape[1:]) if 0 < flattened < shape[0] and shape[0] % flattened == 0 else shape


def samples_loaded(tensors: Sequence[Any], indices: int | None) -> Samples | None:
    """The samples of a batch that a data loader gave. `indices`: how many it was made of, where the loader knows."""
    if indices is not None and indices > 1:
        return Samples(indices)
    found = samples_in(tensors)
    if indices is None or found is None:
        return found if indices is None else Samples(indices)
    # A batch size of 1: a data set of single samples, or one of whole batches.
    sized = [tensor for tensor in tensors if tensor.dim() > 0]
    if any(tensor.shape[0] == 1 for tensor in sized) or found.count <= 1:
        return Samples(1)
    if len(sized) > 1 and not found.doubt:
        return found
    return Samples(1, f"the data loader's batch size is 1, and its tensors have a first dimension of {found.count}")
