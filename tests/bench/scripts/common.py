"""What the scripts of `./dev bench scripts` share: their number of steps, and a digest of what they have trained."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def print_digest(*models: torch.nn.Module) -> None:
    digest = hashlib.sha256()
    for model in models:
        for parameter in model.parameters():
            digest.update(parameter.detach().numpy().tobytes())
    print("digest", digest.hexdigest())


def until_enough(loader: Iterable) -> Iterable:
    """Batches of as many passes over the data as the steps need."""
    done = 0
    while True:
        for batch in loader:
            yield batch
            done += 1
            if done == STEPS:
                return
