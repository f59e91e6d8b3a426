"""What a script is told whose steps are too few for figures."""

from __future__ import annotations

import os
from typing import Any

from ridgeline_runner.common.failure import Failure, describe
from ridgeline_runner.script.step_boundary import StepBoundary


def too_few_steps(boundary: StepBoundary, steps: int, backwards: int) -> dict[str, Any]:
    """The message of a failed run: `steps` have ended, and `backwards` backward passes have begun."""
    return describe(Failure("no-training-step", _reason(boundary, steps, backwards)), "iteration", None)


def _reason(boundary: StepBoundary, steps: int, backwards: int) -> str:
    if not steps:
        passes = _counted(backwards, "backward pass", "es")
        return (
            f"The script ran {passes}, no optimizer of torch.optim stepped, and no weights were seen to change "
            "between them regularly. Say where a step ends with --step-boundary FILE:LINE: each time before that "
            "line runs."
        )
    place = boundary.description()
    counted = {
        "optimizer": f"{_counted(steps, 'step')} of its optimizers",
        "backward": _counted(steps, "backward pass", "es"),
        "weightUpdate": f"{_counted(steps, 'update')} of its weights",
        "forward": f"{_counted(steps, 'call')} of its model",
        "dataLoader": f"{_counted(steps, 'batch', 'es')} of its data loaders",
        "line": f"line {place['line']} of {os.path.basename(place['file'])} had run {_counted(steps, 'time')}",
    }[boundary.kind]
    return (
        f"The script ended after {counted}. Two warm-up steps and two recorded ones are the least that figures can "
        "be made of. If a step is something else, --step-boundary FILE:LINE says where it ends."
    )


def _counted(count: int, noun: str, plural: str = "s") -> str:
    return f"{count} {noun}{'' if count == 1 else plural}"
