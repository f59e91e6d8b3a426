"""Where a training step of a script ends: after its optimizers, after its own updates of the weights, at the next
batch, before a line runs, or at the next call of a model that is not trained."""

from __future__ import annotations

from typing import Any

from ridgeline_runner.script.backward_watch import Backward
from ridgeline_runner.script.hand_updates import WeightsWatch, find_runs
from ridgeline_runner.script.step_period import find_period

_MOST_RUNS = 512  # backward passes that are remembered


class OrderChanged(Exception):
    """The optimizers step in another order than before."""


class StepBoundary:
    """Asked at each event that could end a step; at most one of the questions is ever answered with True."""

    kind = ""
    requested = True
    warnings: tuple[str, ...] = ()
    inside_backward: int | None = None  # the number that stands for all optimizers that step inside backward passes

    def optimizer_begins(self) -> None:
        """An optimizer of torch begins its step."""

    def optimizer_stepped(self, number: int, optimizers: int) -> bool:
        """Optimizer `number` of `optimizers` has stepped, counted from 0 in the order of their first steps."""
        return False

    def fetching(self) -> bool:
        """A batch of the training data is about to be fetched."""
        return False

    def backward_begins(self, backward: Backward) -> bool:
        """Outside of any other backward pass."""
        return False

    def backward_ended(self) -> None:
        """Called outside of any other backward pass."""

    @property
    def awaits_forward(self) -> bool:
        """Whether a step ends before the next forward pass: forward_begins() is to be called then."""
        return False

    def forward_begins(self) -> bool:
        """A module is about to be called while gradients are enabled."""
        return False

    @property
    def may_be_inference(self) -> bool:
        """Whether a step could be a call of a model that is not trained: model_begins() is to be called then."""
        return False

    def model_begins(self) -> bool:
        """Such a model is about to be called."""
        return False

    def model_is_trained(self) -> None:
        """The calls that were taken as steps were something else."""

    def description(self) -> dict[str, Any]:
        """As protocol/script_run.h has it. `optimizers` count from 1 there; empty: unknown."""
        return {"kind": self.kind, "requested": self.requested, "optimizers": [], "file": "", "line": 0}


class FoundBoundary(StepBoundary):
    """After the last of the optimizers that step in turn; their order is looked for. Where weights change and no
    optimizer of torch has stepped, the script updates them itself: then a step ends before the next batch or the next
    forward pass, whichever comes first, after so many backward passes."""

    requested = False

    def __init__(self) -> None:
        self._calls: list[int] = []
        self._period: list[int] | None = None
        self._position = 0
        self._weights: WeightsWatch | None = WeightsWatch()  # as long as it is looked for updates by hand
        self._runs: list[tuple[int, bool]] = []
        self._runs_of_step = 0  # 0: the optimizers say where a step ends
        self._backwards = 0  # of this step that have begun
        self._is_due = False
        self._is_inference = False

    @property
    def kind(self) -> str:  # type: ignore[override]
        if self._is_inference:
            return "forward"
        if self._runs_of_step:
            return "weightUpdate"
        return "backward" if self._period and set(self._period) == {self.inside_backward} else "optimizer"

    def optimizer_begins(self) -> None:
        self._weights = None

    def optimizer_stepped(self, number: int, optimizers: int) -> bool:
        if self._runs_of_step or self._is_inference:
            self._runs_of_step, self._is_due, self._is_inference = 0, False, False
            self._calls.append(number)
            raise OrderChanged
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

    # ---- weights that the script updates itself ----------------------------------------------------------------------

    def backward_begins(self, backward: Backward) -> bool:
        if (self._weights is None and not self._runs_of_step) or backward.gives_graph:
            return False
        if self._runs_of_step:
            ends = self._take_due()
            self._backwards += 1
            return ends
        if self._weights is not None and (run := self._weights.look(backward)) is not None:
            self._runs = [*self._runs[-_MOST_RUNS:], run]
            if found := find_runs(self._runs):
                self._runs_of_step, place = found
                self._backwards = place + 1
                self._weights = None
        return False

    def backward_ended(self) -> None:
        if self._runs_of_step and self._backwards >= self._runs_of_step:
            self._backwards, self._is_due = 0, True

    @property
    def awaits_forward(self) -> bool:
        return self._is_due

    def forward_begins(self) -> bool:
        return self._take_due()

    def fetching(self) -> bool:
        return self._take_due()

    @property
    def may_be_inference(self) -> bool:
        return self._weights is not None and not self._runs and not self._calls

    def model_begins(self) -> bool:
        self._is_inference = self._is_inference or self.may_be_inference
        return self._is_inference

    def model_is_trained(self) -> None:
        self._is_inference = False

    def _take_due(self) -> bool:
        is_due, self._is_due = self._is_due, False
        return is_due

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


class BeforeEachForward(StepBoundary):
    """forward_watch.py finds the model."""

    kind = "forward"
    may_be_inference = True

    def model_begins(self) -> bool:
        return True


class BeforeLine(StepBoundary):
    """line_watch.py notices when the line runs."""

    kind = "line"

    def __init__(self, file: str, line: int) -> None:
        self._place = {"file": file, "line": line}

    def description(self) -> dict[str, Any]:
        return {**super().description(), **self._place}


def boundary_of(option: dict[str, Any]) -> StepBoundary:
    """What `--step-boundary` asks for; without it, where a step ends is looked for."""
    if option["kind"] == "line":
        return BeforeLine(option["file"], option["line"])
    kinds = {"optimizer": AfterEachOptimizerStep, "dataLoader": BeforeEachBatch, "forward": BeforeEachForward}
    return kinds.get(option["kind"], FoundBoundary)()
