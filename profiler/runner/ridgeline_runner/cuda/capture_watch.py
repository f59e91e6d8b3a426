"""Captures of CUDA graphs, which the agent keeps: what a graph replays is on the lines that captured it."""

from __future__ import annotations

import functools
from typing import Any


class CaptureWatch:
    """One per recorder. `agent` is the module `_ridgeline_agent`."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._replaced: dict[str, Any] = {}

    def watch(self) -> None:
        """From now on, until end(). torch.cuda.graph(), make_graphed_callables() and torch.compile capture by
        CUDAGraph. Idempotent."""
        import torch

        kind = torch.cuda.CUDAGraph
        if self._replaced or not hasattr(kind, "capture_begin"):
            return
        agent, begin, end = self._agent, kind.capture_begin, kind.capture_end
        self._replaced = {"capture_begin": begin, "capture_end": end}

        @functools.wraps(begin)
        def capture_begin(graph: Any, *arguments: Any, **keywords: Any) -> Any:
            agent.begin_capture()
            try:
                return begin(graph, *arguments, **keywords)
            except BaseException:
                agent.end_capture()
                raise

        @functools.wraps(end)
        def capture_end(graph: Any, *arguments: Any, **keywords: Any) -> Any:
            try:
                return end(graph, *arguments, **keywords)
            finally:
                agent.end_capture()

        kind.capture_begin, kind.capture_end = capture_begin, capture_end

    def end(self) -> None:
        import torch

        for name, function in self._replaced.items():
            setattr(torch.cuda.CUDAGraph, name, function)
        self._replaced = {}
