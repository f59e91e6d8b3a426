"""How many samples each training step trains: what its data loaders gave, else what its models were called with.

Pure: batch.py and measurement.py bring what they saw.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ridgeline_runner.script.batch_dimension import Samples

_BATCH_SIZES = 1 << 24
_MOST_STEPS = 1 << 17  # that are remembered
_USUAL = 0.75  # part of the steps that have the same number: that is the batch size, and others are exceptions
_LOADED = 0.9  # part of the steps in which a data loader gave something: it gives a step its samples
ASK = "Say how many samples a step trains with --batch-size."


@dataclass
class StepSamples:
    given: int = 0  # by the user; 0: not
    _loaded: list[int] = field(default_factory=list)  # by step; 0: nothing
    _rates: list[float] = field(default_factory=list)  # by step: samples of its backward passes, of those watched
    _batches: list[int] = field(default_factory=list)
    _doubts: dict[str, None] = field(default_factory=dict)  # of loaded batches
    _passed: Samples | None = None  # of the step that was watched
    _backwards: int = 0  # likewise

    def step_ended(self, loaded: Samples | None, batches: int, rate: float | None) -> None:
        """`rate`: the samples of the step's backward passes over those of the one that was watched; None: unknown."""
        if len(self._loaded) < _MOST_STEPS:
            self._loaded.append(loaded.count if loaded else 0)
            self._batches.append(batches)
            self._rates.append(1.0 if rate is None else rate)
            if loaded and loaded.doubt:
                self._doubts[loaded.doubt] = None

    def watched(self, passed: Samples | None, backwards: int) -> None:
        """What the forward passes of the step show."""
        self._passed, self._backwards = passed, backwards

    def forget(self) -> None:
        """Steps end elsewhere from now on."""
        for one in (self._loaded, self._rates, self._batches, self._doubts):
            one.clear()
        self._passed = None

    @property
    def steps(self) -> int:
        """Steps that were seen."""
        return len(self._loaded)

    def _by_loader(self) -> bool:
        return sum(1 for one in self._loaded if one) >= _LOADED * max(1, len(self._loaded)) and any(self._loaded)

    def by_step(self) -> list[int]:
        """Samples of each step; empty: unknown."""
        if self.given:
            return [self.given] * len(self._loaded)
        if self._by_loader():
            return self._loaded
        if self._passed is not None and 0 < self._passed.count < _BATCH_SIZES:
            return [round(self._passed.count * rate) for rate in self._rates]
        return []

    @property
    def batch_size(self) -> int:
        """The batch size of most steps, else their mean; 1 where it is unknown."""
        sizes = self.by_step()
        if not sizes:
            return self.given or 1
        usual, count = Counter(sizes).most_common(1)[0]
        return max(1, usual if count >= _USUAL * len(sizes) else round(sum(sizes) / len(sizes)))

    def doubt(self) -> str:
        """Why the number is uncertain, as a sentence's end; empty: it is certain, or unknown."""
        if self.given or not self.by_step():
            return ""
        passed = self._passed
        if not self._by_loader():
            return passed.doubt if passed else ""
        if self._doubts:
            return next(iter(self._doubts))
        several = max(self._batches, default=0) > 1
        fewer = passed is not None and not passed.doubt and passed.count < max(self._loaded)
        if several and fewer and passed is not None:
            return f"the data loaders gave {max(self._loaded)} samples, and the model was called with {passed.count}"
        return ""

    @property
    def is_certain(self) -> bool:
        return bool(self.by_step()) and not self.doubt()

    def warnings(self) -> list[str]:
        size, doubt = self.batch_size, self.doubt()
        if self.given:
            return []
        if not self.by_step():
            return [f"The batch size is not known, nor is the throughput. {ASK}"]
        if doubt:
            return [f"The batch size {size} is uncertain: {doubt}. {ASK}"]
        if self._by_loader():
            batches = Counter(self._batches).most_common(1)[0][0]
            return [f"The batch size {size} is that of the {batches} batches of a step."] if batches > 1 else []
        if self._backwards > 1:
            return [
                f"The batch size {size} is that of the model's input in the {self._backwards} backward passes of a "
                "step: no DataLoader is used."
            ]
        return [f"The batch size {size} is that of the model's input: no DataLoader is used."]

    def description(self) -> dict[str, Any]:
        """As protocol/script_run.h has it."""
        sizes = self.by_step()
        return {
            "batchSize": self.batch_size if sizes else 0,
            "steps": len(sizes),
            "mean": sum(sizes) / len(sizes) if sizes else 0,
            "least": min(sizes, default=0),
            "most": max(sizes, default=0),
            "doubt": self.doubt(),
        }
