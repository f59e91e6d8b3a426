"""Where a training step of a script ends: after its optimizers, at the next batch, or before a line runs."""

from __future__ import annotations

from typing import Any

from ridgeline_runner.step_period import find_period


class OrderChanged(Exception):
    """The optimizers step in another order than before."""


class StepBoundary:
    """Asked at each event that could end a step; at most one of the questions is ever answered with True."""

    kind = ""
    requested = True
    warnings: tuple[str, ...] = ()

    def optimizer_stepped(self, number: int, optimizers: int) -> bool:
        """Optimizer `number` of so many has stepped, counted from 0 in the order of their first steps."""
        return False

    def fetching(self) -> bool:
        """A batch of the training data is about to be fetched."""
        return False

    def description(self) -> dict[str, Any]:
        """As protocol/script_run.h has it. `optimizers` count from 1 there; empty: unknown."""
        return {"kind": self.kind, "requested": self.requested, "optimizers": [], "file": "", "line": 0}


class AfterOptimizers(StepBoundary):
    """After the last of the optimizers that step in turn; their order is looked for."""

    kind = "optimizer"
    requested = False

    def __init__(self) -> None:
        self._calls: list[int] = []
        self._period: list[int] | None = None
        self._position = 0

    def optimizer_stepped(self, number: int, optimizers: int) -> bool:
        if self._period is None:
            self._calls.append(number)
            found = find_period(self._calls, optimizers)
            if found is None:
                return False
            self._period, self._position = found
            if not self._period:
                self.warnings = (
                    "The optimizers step in no regular order: each of their steps is taken as a training step.",
                )
            return self._position == 0
        if not self._period:
            return True
        if self._period[self._position] != number:
            self._calls.append(number)
            self._period = None
            raise OrderChanged
        self._position = (self._position + 1) % len(self._period)
        return self._position == 0

    def description(self) -> dict[str, Any]:
        return {**super().description(), "optimizers": [number + 1 for number in self._period or []]}


class AfterEachOptimizerStep(StepBoundary):
    kind = "optimizer"

    def optimizer_stepped(self, number: int, optimizers: int) -> bool:
        return True


class BeforeEachBatch(StepBoundary):
    kind = "dataLoader"

    def fetching(self) -> bool:
        return True


class BeforeLine(StepBoundary):
    """line_watch.py notices when the line runs."""

    kind = "line"

    def __init__(self, file: str, line: int) -> None:
        self._place = {"file": file, "line": line}

    def description(self) -> dict[str, Any]:
        return {**super().description(), **self._place}


def boundary_of(option: dict[str, Any]) -> StepBoundary:
    """What `--step-boundary` asks for; without it, the order of the optimizers is looked for."""
    if option["kind"] == "line":
        return BeforeLine(option["file"], option["line"])
    kinds = {"optimizer": AfterEachOptimizerStep, "dataLoader": BeforeEachBatch}
    return kinds.get(option["kind"], AfterOptimizers)()
