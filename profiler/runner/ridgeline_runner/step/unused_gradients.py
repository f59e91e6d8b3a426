"""Parameters whose gradients nothing uses: left out of the optimizer, on purpose or by mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class UnusedGradients:
    """Watches the parameters of the models. Costs nothing while the step runs."""

    def __init__(self, parameters: list[tuple[str, Any]]) -> None:
        """`parameters`: (name, tensor), before the first iteration."""
        self._versions = [(name, tensor, tensor._version) for name, tensor in parameters if tensor.requires_grad]

    def find(self, step: Callable[[], Any]) -> list[dict[str, Any]]:
        """After the last iteration. The version of a tensor that an optimizer changes goes up; what changes a
        parameter through `.data` leaves it, so that those whose version stayed are checked in one more iteration.
        """
        suspects = [(name, p) for name, p, version in self._versions if p.grad is not None and p._version == version]
        if not suspects:
            return []
        import torch

        before = []
        for _, parameter in suspects:
            parameter.grad = None
            before.append(parameter.detach().clone())
        step()
        return [
            {"parameter": name, "bytes": parameter.grad.numel() * parameter.grad.element_size()}
            for (name, parameter), values in zip(suspects, before, strict=True)
            if parameter.grad is not None and torch.equal(parameter, values)
        ]
