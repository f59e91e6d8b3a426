"""Whether a failure is caused by missing CUDA, judging by its text or the line that raised it."""

from __future__ import annotations

import ast
import os
import re
import traceback

import torch

from ridgeline_runner.common.device_names import USE
from ridgeline_runner.common.overlay import source_of

_NAMES_CUDA = re.compile(r"cuda|cudnn|nvidia|\bgpus?\b", re.IGNORECASE)
_TORCH_SAYS = ("Cannot access accelerator device", "active drivers")  # the second is Triton


def is_the_cause(error: BaseException, text: str) -> bool:
    """`text` is the error's own. False on a machine with usable CUDA, unless `--device cpu` hides it."""
    if isinstance(error, (ImportError, SyntaxError)) or (torch.cuda.is_available() and not USE.in_effect):
        return False
    return bool(_NAMES_CUDA.search(text)) or any(part in text for part in _TORCH_SAYS) or _comes_from_cuda(error)


def advice() -> str:
    """What to do about missing CUDA."""
    if USE.in_effect:
        return "`--device cpu` has nothing to put in the place of this: it needs a CUDA device."
    return (
        "There is no CUDA that torch can use. Run again with `--device cpu` to profile the code on the CPU; "
        "every figure is then labelled so."
    )


def _comes_from_cuda(error: BaseException) -> bool:
    """Raised inside torch.cuda, or by a statement that mentions CUDA or ends the program because of it."""
    frames = traceback.extract_tb(error.__traceback__)
    while frames and "_sitebuiltins" in frames[-1].filename:  # exit() and quit()
        frames.pop()
    if not frames:
        return False
    file, line = frames[-1].filename, frames[-1].lineno or 0
    if f"{os.sep}torch{os.sep}cuda{os.sep}" in file:
        return True
    if f"{os.sep}site-packages{os.sep}" in file:
        return False
    return any(_NAMES_CUDA.search(text) for text in _reasons(file, line, ends=isinstance(error, SystemExit)))


def _reasons(file: str, line: int, *, ends: bool) -> list[str]:
    """The statement on a line of a file; where it raises or ends the program, also the conditions that lead to it."""
    try:
        text = source_of(file).decode()
        statements = [
            node
            for node in ast.walk(ast.parse(text))  # outer ones first
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    if not statements:
        return []
    statement = statements[-1]
    reasons = [text.splitlines()[line - 1] if hasattr(statement, "body") else ast.unparse(statement)]
    if ends or isinstance(statement, ast.Raise):
        reasons += [ast.unparse(node.test) for node in statements if isinstance(node, ast.If)]
    return reasons
