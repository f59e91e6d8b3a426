"""Scripts that compute no gradients, such as an evaluation: their steps are the calls of a model.

Calls are watched from the first sign of inference on: a module is put into evaluation, or a batch is fetched without
gradients. The module that the script itself calls repeatedly is its model, and each of its calls begins a step.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from ridgeline_runner.common import dynamo
from ridgeline_runner.step.recorder import Recorder

_LEAST_CALLS = 4  # of a module by the script itself
_MOST_CALLS = 10_000  # that are watched before it is given up
_TRAINS = re.compile(r"\.backward\(|\boptim\b|\bautograd\b|\.fit\(|\bTrainer\b|\bAccelerator\b")
_MOST_BYTES = 1 << 20  # of a file that is searched for that
_WATCHED_STEPS = 3  # after which nothing is known of other modules' calls


class ForwardWatch:
    def __init__(
        self,
        recorder: Recorder,
        project_root: str,
        begins: Callable[[Any, Any, Any], None],
        *,
        requested: bool,
        changes_model: bool,
    ) -> None:
        """`begins(module, arguments, keywords)` is called before each call of the model, once it is known. With
        `requested` the user has said that steps are calls; else a script that could train is left alone.
        `changes_model`: it may change what the call does, so it comes before torch has looked at the module."""
        self._recorder = recorder
        self._root = project_root
        self._begins = begins
        self._requested = requested
        self._changes_model = changes_model
        self._model: Any = None
        self._calls: Counter[int] = Counter()  # of modules that the script calls itself, by id
        self._open = 0
        self._thread = 0
        self._steps = 0
        self._stop: Callable[[], None] | None = None
        self._is_over = False

    @dynamo.unseen
    def consider(self) -> None:
        """There is a sign of inference."""
        if self._is_over or self._stop is not None:
            return
        if not self._requested and _could_train(self._root):
            self._is_over = True
            return
        self._thread = threading.get_ident()
        self._stop = self._recorder.watch_module_calls(self._before, self._after)

    def stop(self) -> None:
        self._is_over = True
        if self._stop is not None:
            self._stop()
            self._stop = None

    def _before(self, module: Any, arguments: Any, keywords: Any) -> None:
        if self._is_over or threading.get_ident() != self._thread:
            return
        if self._model is None and not self._open:
            self._look_at(module)
        self._open += 1
        if module is self._model:
            self._step_begins(module, arguments, keywords)

    def _after(self, module: Any, arguments: Any, keywords: Any, output: Any) -> None:
        if threading.get_ident() == self._thread and self._open:
            self._open -= 1

    def _look_at(self, module: Any) -> None:
        import torch

        if not self._requested and torch.is_grad_enabled():
            return
        self._calls[id(module)] += 1
        if self._calls[id(module)] >= _LEAST_CALLS and next(module.parameters(), None) is not None:
            self._model = module
        elif self._calls.total() > _MOST_CALLS:
            self.stop()

    def _step_begins(self, module: Any, arguments: Any, keywords: Any) -> None:
        self._steps += 1
        self._begins(module, arguments, keywords)
        # A module that is compiled in place is compiled with its hooks.
        compiled_with_hooks = getattr(module, "_compiled_call_impl", None) is not None
        if self._steps == _WATCHED_STEPS and not compiled_with_hooks and not self._changes_model:
            self._watch_only(module)

    def _watch_only(self, module: Any) -> None:
        """Other modules are called as without this from now on."""
        stop_watching = self._stop
        self._stop = module.register_forward_pre_hook(self._hook, prepend=True, with_kwargs=True).remove
        if stop_watching is not None:
            stop_watching()

    @dynamo.unseen
    def _hook(self, module: Any, arguments: Any, keywords: Any) -> None:
        if not self._is_over and threading.get_ident() == self._thread:
            self._begins(module, arguments, keywords)


def _could_train(project_root: str) -> bool:
    """Whether any of the project's code that is loaded computes gradients: then a step ends elsewhere."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None) or ""
        if path.startswith(f"{project_root}/") and "/site-packages/" not in path:
            with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                if _TRAINS.search(file.read(_MOST_BYTES)):
                    return True
    return False
