"""Changes of recorded jobs: a rank that sleeps is predicted without its sleep, and then runs without it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from job_replay import MODELS, SCRIPT, recorded, shown

BUCKET_MB = "25"
LATE_MS = "20"
MILLISECONDS = {"µs": 1e-3, "ms": 1.0, "s": 1e3}


def rows(binary: Path) -> list[list[str]]:
    """A row of each model. Both runs without the sleep are later than the prediction; they tell the noise."""
    return [_row(binary, model) for model in MODELS]


def _row(binary: Path, model: str) -> list[str]:
    with TemporaryDirectory() as folder:
        late = recorded(binary, Path(folder) / "late", model, BUCKET_MB, LATE_MS)
        text = shown(binary, late)
        line = 1 + SCRIPT.read_text().splitlines().index("            time.sleep(late)")
        place = re.search(rf"rank 1, (\S+:{line}) ", text)
        if place is None:
            sys.exit(f"{model}: the sleep is not on the critical path of\n{text}")
        changed = shown(binary, late, "--change", f"faster:{place[1]}=1e9")
        predicted = _step_ms(changed, r"=1e9\s+([\d.]+) (\S+)")
        without = [
            _recorded_ms(shown(binary, recorded(binary, Path(folder) / f"on time {i}", model, BUCKET_MB)))
            for i in range(2)
        ]
    was = _recorded_ms(text)
    error, noise = (100 * (one / without[0] - 1) for one in (predicted, without[1]))
    return [model, f"{was:.1f} ms", f"{predicted:.1f} ms", f"{without[0]:.1f} ms", f"{error:+.1f} %", f"{noise:+.1f} %"]


def _recorded_ms(text: str) -> float:
    return _step_ms(text, r"replayed [\d.]+ \S+, recorded ([\d.]+) (\S+)")


def _step_ms(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        sys.exit(f"no {pattern} in\n{text}")
    return float(found[1]) * MILLISECONDS[found[2]]
