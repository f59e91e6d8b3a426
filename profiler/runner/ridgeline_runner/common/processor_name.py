"""The processor's name, as server/worker/processor_name.h has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

UNKNOWN = "unknown processor"


def processor_name(arm: dict[str, Any] | None = None) -> str:
    """`arm`: what arm_processors.json holds, where this module lies in no file."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return UNKNOWN
    pairs = [(key.strip(), value.strip()) for key, colon, value in (line.partition(": ") for line in lines) if colon]
    if not any(key == "CPU implementer" for key, _ in pairs):
        return next((value for key, value in pairs if key == "model name"), UNKNOWN)
    if arm is None:
        arm = json.loads(Path(__file__).with_name("arm_processors.json").read_text("utf-8"))
    names: dict[str, None] = {}  # in the order of the processors
    implementer = ""
    for key, value in pairs:
        if key == "CPU implementer":
            implementer = value
        elif key == "CPU part":
            known = arm.get(implementer, {"name": f"implementer {implementer}", "parts": {}})
            names[f"{known['name']} {known['parts'].get(value, f'part {value}')}"] = None
    return " + ".join(names) or UNKNOWN
