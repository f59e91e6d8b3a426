"""What a script does between its training steps, by name: evaluation, checkpoints, new iterators of data loaders, and
what torch.compile compiles.

A step in which one of these happened is not like the others and is left out of the figures, unless it happens in most
steps: then it is part of the step.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from ridgeline_runner.common import dynamo
from ridgeline_runner.common.patches import Patches

EVALUATION = "evaluation"
CHECKPOINT = "checkpoint"
LOADER_START = "data loader start"
COMPILATION = "compilation"


class BetweenSteps:
    """Only the thread `is_watched` says True on is followed."""

    def __init__(self, is_watched: Callable[[], bool]) -> None:
        self._is_watched = is_watched
        self._counts: Counter[str] = Counter()
        self._ns: Counter[str] = Counter()
        self._now: Counter[str] = Counter()  # what happened since the last step ended; nanoseconds
        self._evaluating_since = 0
        self._by_eval = False  # the evaluation began with Module.eval()
        self._steps = 0
        self._steps_with: Counter[str] = Counter()
        self._regular: frozenset[str] = frozenset()

    def install(self, patches: Patches) -> None:
        import torch

        def watch_train(train: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(train)
            def changed(this: Any, mode: bool = True) -> Any:
                if bool(mode) == bool(self._evaluating_since) and self._is_watched():
                    if mode:
                        self._end_evaluation(perf_counter_ns())
                    else:
                        self._begin_evaluation(by_eval=True)
                return train(this, mode)

            return changed

        def watch_save(save: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(save)
            def saved(*arguments: Any, **keywords: Any) -> Any:
                began = perf_counter_ns()
                try:
                    return save(*arguments, **keywords)
                finally:
                    if self._is_watched():
                        self._add(CHECKPOINT, perf_counter_ns() - began)

            return saved

        patches.replace(torch.nn.Module, "train", watch_train)
        patches.replace(torch, "save", watch_save)

    def fetching(self, *, with_gradients: bool) -> bool:
        """A batch is about to be fetched. Whether it is one of training."""
        if not with_gradients:
            self._begin_evaluation(by_eval=False)
        elif self._evaluating_since and not self._by_eval:
            self._end_evaluation(perf_counter_ns())
        return not self._evaluating_since

    def loader_starts(self, ns: int, *, is_new: bool) -> None:
        """A new iterator of data was made, or has given its first batch. Of an evaluation it is part of that."""
        if not self._evaluating_since:
            self._add(LOADER_START, ns, count=int(is_new))

    def step_ended(self, now: int) -> dict[str, int]:
        """What happened in the step that has ended, and is not part of every step; nanoseconds."""
        self._end_evaluation(now)
        happened = {name: ns for name, ns in self._now.items() if name not in self._regular}
        self._steps += 1
        self._steps_with.update(list(self._now))
        self._now.clear()
        return happened

    def begin(self) -> None:
        """From now on: what happened before the first step is not between steps."""
        self._evaluating_since = 0
        for one in (self._counts, self._ns, self._now, self._steps_with):
            one.clear()
        self._steps = 0

    def compiled(self, ns: int) -> None:
        """In the step that ends now, torch.compile compiled something."""
        self._add(COMPILATION, ns)

    def learn_regular(self, *, has_compiled: bool) -> None:
        """What happened in most of the steps so far is part of a step; with `has_compiled` no compilation is, as it has
        ended."""
        regular = {name for name, count in self._steps_with.items() if 2 * count > self._steps}
        self._regular = frozenset(regular - {COMPILATION} if has_compiled else regular)

    def description(self) -> list[dict[str, Any]]:
        return [
            {"name": name, "count": count, "ns": self._ns[name]}
            for name, count in self._counts.items()
            if count > 0 and name not in self._regular
        ]

    def _begin_evaluation(self, *, by_eval: bool) -> None:
        if not self._evaluating_since:
            self._evaluating_since = perf_counter_ns()
            self._by_eval = by_eval

    def _end_evaluation(self, now: int) -> None:
        if self._evaluating_since:
            self._add(EVALUATION, now - self._evaluating_since)
            self._evaluating_since = 0

    @dynamo.unseen
    def _add(self, name: str, ns: int, count: int = 1) -> None:
        self._counts[name] += count
        self._ns[name] += ns
        self._now[name] += ns
