"""The store of profiles: whatever happens to it, a profile is printed, and nothing crashes."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import BINARY, ENTRIES, PYTHON, ridgeline

ENTRY = ENTRIES / "layers" / "entry.py"
COMMON = ("--python", PYTHON, "--seconds", "0.1", "--batch-sizes", "16,32", "--format", "json")


@pytest.fixture
def cache(agent: Path, tmp_path: Path) -> Path:
    """A cache of its own that holds the agent already."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    shutil.copytree(agent.parents[1], folder / "agents")
    return folder


def run_in(cache: Path, command: str, *arguments: str) -> tuple[dict[str, Any], str]:
    done = ridgeline(command, ENTRY, *arguments, *COMMON, RIDGELINE_CACHE=str(cache))
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if line.startswith("ridgeline: warning: ")]
    return json.loads(done.stdout), "\n".join(warnings)


def not_a_database(file: Path) -> None:
    file.write_text("not a database" * 1000)


def a_folder(file: Path) -> None:
    file.mkdir()


@pytest.mark.parametrize(
    ("spoil", "words", "is_kept"),
    [
        (not_a_database, "a new store was created", True),
        (a_folder, "cannot be used", False),
    ],
)
def test_whatever_lies_in_its_place_the_profile_is_printed(
    spoil: Callable[[Path], None], words: str, is_kept: bool, cache: Path
) -> None:
    spoil(cache / "profiles.sqlite")
    report, warning = run_in(cache, "profile")
    assert words in warning and str(cache) in warning
    assert (report["id"] is not None) is is_kept
    assert report["lines"]


def test_a_full_disk_is_a_warning(cache: Path) -> None:
    run_in(cache, "profile")  # the runner is unpacked, the store is made

    def files_stay_small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))

    done = subprocess.run(
        [BINARY, "profile", ENTRY, *COMMON],
        capture_output=True,
        text=True,
        env={**os.environ, "RIDGELINE_CACHE": str(cache)},
        preexec_fn=files_stay_small,
        restore_signals=False,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning: the profile was not kept" in done.stderr
    assert json.loads(done.stdout)["id"] is None


@pytest.mark.long
def test_a_row_that_does_not_parse_is_dropped_and_the_entry_profiled_anew(cache: Path) -> None:
    first, _ = run_in(cache, "profile")
    assert run_in(cache, "predict", "--batch-size", "8")[0]["profile"]["id"] == first["id"]
    with sqlite3.connect(cache / "profiles.sqlite") as database:
        database.execute("UPDATE profiles SET report = replace(report, '\"version\": 2', '\"version\": 7')")
    database.close()
    again, warning = run_in(cache, "predict", "--batch-size", "8")
    assert not again["profile"]["stored"]
    assert first["id"] in warning and "dropped" in warning
    with sqlite3.connect(cache / "profiles.sqlite") as database:
        assert database.execute("SELECT id FROM profiles").fetchall() == [(again["profile"]["id"],)]
    database.close()


def test_two_profiles_at_once_are_both_kept_with_their_recordings(cache: Path) -> None:
    command = [str(BINARY), "profile", str(ENTRY), *COMMON]
    environment = {**os.environ, "RIDGELINE_CACHE": str(cache)}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    reports = [json.loads(process.communicate()[0]) for process in running]
    ids = {report["id"] for report in reports}
    with sqlite3.connect(cache / "profiles.sqlite") as database:
        kept = {row[0] for row in database.execute("SELECT id FROM profiles")}
    database.close()
    assert len(ids) == 2 and ids == kept
    recordings = cache / "recordings"
    assert recordings.stat().st_mode & 0o777 == 0o700
    assert {(file.name, file.stat().st_mode & 0o777) for file in recordings.iterdir()} == {(id, 0o600) for id in ids}

    def exported(format: str) -> subprocess.CompletedProcess[str]:
        return ridgeline("report", reports[0]["id"], "--format", format, RIDGELINE_CACHE=str(cache))

    events = json.loads(exported("perfetto").stdout)["traceEvents"]
    live = [event["args"]["bytes"] for event in events if event["name"] == "live memory"]
    assert max(live) == reports[0]["memory"]["peakBytes"]
    sums = {
        profile["name"]: sum(profile["weights"]) for profile in json.loads(exported("speedscope").stdout)["profiles"]
    }
    assert sums["time of one iteration"] == pytest.approx(reports[0]["iteration"]["timeMs"])
    file = recordings / reports[0]["id"]
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    damaged = exported("perfetto")
    assert damaged.returncode == 2 and "was damaged on the disk and is dropped" in damaged.stderr
    assert not file.exists()
