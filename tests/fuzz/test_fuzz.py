"""`./dev fuzz [SECONDS]`: each target replays its corpus and goes on from there for some seconds, by libFuzzer.

What is found on the way is kept in build-asan/fuzz and goes on from there the next time; what belongs in git is copied
to corpus/ by hand. An input that breaks something is named with the command that replays it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-asan"
CORPUS = Path(__file__).parent / "corpus"
SECONDS = int(os.environ.get("RIDGELINE_FUZZ_SECONDS", "20"))

# Where a target's seeds are, beside its own corpus; and the longest input that is made of them.
SEEDS = {"source": ["tests/data/entries", "examples"], "report": ["tests/data/report"]}
LONGEST = {"source": 2_000, "report": 60_000}
SANITIZERS = {
    "ASAN_OPTIONS": "halt_on_error=1:handle_abort=1:detect_leaks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def targets() -> list[str]:
    return sorted(source.name.removesuffix("_fuzz.cpp") for source in Path(__file__).parent.glob("*_fuzz.cpp"))


@pytest.mark.parametrize("target", targets())
def test_nothing_breaks_it(target: str) -> None:
    program = BUILD / "bin" / f"ridgeline_{target}_fuzz"
    found = BUILD / "fuzz" / target
    found.mkdir(parents=True, exist_ok=True)
    seeds = [CORPUS / target, *(ROOT / folder for folder in SEEDS.get(target, []))]
    command = [
        program,
        f"-max_total_time={SECONDS}",
        f"-max_len={LONGEST.get(target, 8_000)}",
        "-timeout=20",  # seconds for one input, on a slow and busy machine
        "-rss_limit_mb=3000",
        "-verbosity=0",
        f"-artifact_prefix={BUILD}/fuzz/{target}-",
        found,
        *seeds,
    ]
    done = subprocess.run(command, env=os.environ | SANITIZERS, capture_output=True, text=True, errors="replace")
    words = done.stderr[-6000:]
    assert done.returncode == 0, f"{words}\nreplay with: {program} FILE (the file is named above)"
