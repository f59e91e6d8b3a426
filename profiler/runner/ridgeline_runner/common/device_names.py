"""Recognises the names of CUDA devices and notes their use: shared by the parts of `--device cpu`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch

CPU = torch.device("cpu")


@dataclass
class Use:
    """Whether `--device cpu` is in effect, and what the code used of CUDA. Checking for a device does not count."""

    in_effect: bool = False
    cuda: bool = False
    half_autocast: bool = False


USE = Use()


def cpu(device: Any) -> Any:
    """The CPU for whatever names a CUDA device (a string, a torch.device, an index), else the value itself."""
    if isinstance(device, torch.device):
        if device.type != "cuda":
            return device
    elif isinstance(device, str):
        if not device.startswith("cuda"):
            return device
    elif not isinstance(device, int) or isinstance(device, bool):
        return device
    USE.cuda = True
    return CPU


def called_by_torch() -> bool:
    """Whether the function that called our caller belongs to torch itself.

    torch._dynamo.variables does not: there the compiler calls what the user's code calls.
    """
    name = sys._getframe(2).f_globals.get("__name__", "")
    return name.startswith("torch.") and not name.startswith("torch._dynamo.variables.")
