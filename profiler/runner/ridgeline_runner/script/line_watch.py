"""Notices each time before a line of a file runs.

From Python 3.12 on, sys.monitoring reports the lines of the one code object that has it, and nothing else is slower.
Before, sys.settrace is called for every call of the thread: `calls` says how many, and only the frames of that code
object are traced line by line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

_MONITORING = getattr(sys, "monitoring", None)
_TOOLS = (3, 4)  # of sys.monitoring, which has reserved the others


class LineWatch:
    """`passed` is called on the thread that runs the line; what it raises is raised there."""

    traces_calls = _MONITORING is None

    def __init__(self, file: str, line: int, passed: Callable[[], None]) -> None:
        self._file = os.path.realpath(file)
        self._line = line
        self._passed = passed
        self._code: CodeType | None = None
        self._is_file: dict[str, bool] = {}
        self._tool = -1
        self._active = False
        self.calls = 0  # that were traced

    def start(self) -> str:
        """Begins on this thread, also in frames that run. Returns why it cannot; mostly empty."""
        os.register_at_fork(after_in_child=self.stop)
        return self._trace() if _MONITORING is None else self._monitor()

    def stop(self) -> None:
        if not self._active:
            return
        self._active = False
        if _MONITORING is not None:
            _MONITORING.free_tool_id(self._tool)
        elif getattr(sys.gettrace(), "__self__", None) is self:
            sys.settrace(None)

    # ---- which code has the line -------------------------------------------------------------------------------------

    def _find(self, code: CodeType) -> bool:
        """Looks in the code and in what is defined in it: the outermost that has the line."""
        name = code.co_filename
        if name not in self._is_file:
            self._is_file[name] = os.path.realpath(name) == self._file
        if self._is_file[name]:
            self._code = _code_with(code, self._line)
        return self._code is not None

    def _find_running(self) -> list[FrameType]:
        """The frames of the code that has the line, where it already runs."""
        frames = []
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if self._code is not None or self._find(frame.f_code):
                frames.append(frame)
            frame = frame.f_back
        return [frame for frame in frames if frame.f_code is self._code]

    # ---- Python 3.12 and later ---------------------------------------------------------------------------------------

    def _monitor(self) -> str:
        monitoring: Any = _MONITORING
        free = [tool for tool in _TOOLS if monitoring.get_tool(tool) is None]
        if not free:
            return "other tools use sys.monitoring"
        self._tool, self._active = free[0], True
        monitoring.use_tool_id(self._tool, "ridgeline")
        monitoring.register_callback(self._tool, monitoring.events.LINE, self._on_line)
        self._find_running()
        if self._code is not None:
            monitoring.set_local_events(self._tool, self._code, monitoring.events.LINE)
        else:
            monitoring.register_callback(self._tool, monitoring.events.PY_START, self._on_start)
            monitoring.set_events(self._tool, monitoring.events.PY_START)
        return ""

    def _on_start(self, code: CodeType, _: int) -> Any:
        monitoring: Any = _MONITORING
        if self._code is None and self._find(code):
            monitoring.set_events(self._tool, 0)
            monitoring.set_local_events(self._tool, self._code, monitoring.events.LINE)
        return monitoring.DISABLE

    def _on_line(self, _: CodeType, line: int) -> Any:
        if line != self._line:
            return _MONITORING.DISABLE  # type: ignore[union-attr]
        self._passed()
        return None

    # ---- before ------------------------------------------------------------------------------------------------------

    def _trace(self) -> str:
        if sys.gettrace() is not None:
            return "another tool traces it, such as a debugger"
        self._active = True
        running = self._find_running()
        sys.settrace(self._on_call)
        for frame in running:
            frame.f_trace = self._on_event
        return ""

    def _on_call(self, frame: FrameType, _: str, __: Any) -> Any:
        self.calls += 1
        if self._code is None:
            self._find(frame.f_code)
        return self._on_event if frame.f_code is self._code else None

    def _on_event(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and frame.f_lineno == self._line and self._active:
            self._passed()
        return self._on_event


def _code_with(code: CodeType, line: int) -> CodeType | None:
    if any(number == line for _, _, number in code.co_lines()):
        return code
    inner = (_code_with(constant, line) for constant in code.co_consts if isinstance(constant, CodeType))
    return next((found for found in inner if found is not None), None)
