"""Which processes of a command are followed, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

from training_scripts import TRAIN, report_of, run, write

STOP = ("--stop", "--seconds", "1", "--steps", "3")


def test_a_process_that_is_forked_is_named(tmp_path: Path) -> None:
    text = TRAIN.replace("    main()\n", "    pid = os.fork()\n    main() if pid == 0 else os.waitpid(pid, 0)\n")
    done = run(write(tmp_path, "import os\n" + text), "50")
    assert done.returncode == 1
    assert done.stderr.count("was forked after torch was imported") == 1
    assert "spawn" in done.stderr
    assert "took a training step" not in done.stderr


def test_a_script_that_starts_itself_again(tmp_path: Path) -> None:
    again = """
        import os, sys
        import torch
        if "again" not in sys.argv:
            os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
    """
    script = write(tmp_path, again)
    script.write_text(script.read_text() + TRAIN)
    report = report_of(script, "100000", options=STOP)
    assert report["entry"]["batchSize"] == 32


def test_one_of_several_processes_trains(tmp_path: Path) -> None:
    others = "import subprocess, sys\nfor _ in range(2): subprocess.run([sys.executable, '-c', 'import torch'])\n"
    done = run(write(tmp_path, others + TRAIN), "100000", options=STOP)
    assert done.returncode == 0
    assert "train.py · batch 32" in done.stderr
    assert "Processes" not in done.stderr and "error" not in done.stderr


def test_what_is_known_of_a_script_that_fails(tmp_path: Path) -> None:
    """It has been recorded, and not timed long enough."""
    text = TRAIN.replace("done += 1", "done += 1\n            if done == 60: raise ValueError('it ended here')")
    done = run(write(tmp_path, text), options=("--steps", "3", "--seconds", "60"))
    assert done.returncode == 1
    assert "it ended here" in done.stderr
    assert "train.py · batch 32" in done.stderr
