"""`./dev bench public-scripts --data FOLDER`: public training scripts under `ridgeline profile`, beside own loops.

FOLDER holds pytorch/examples and nanoGPT, unchanged, with their data; it is no part of this repository. The data of
time_sequence_prediction are sequences of 20 (L in its generate_sine_wave.py), as one of its steps takes minutes with
those of 1000. Each script is timed without Ridgeline before and after the run, by own_loop.py, and run once more for
its peak.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
BINARY = Path(os.environ.get("RIDGELINE_BINARY", HERE.parents[1] / "build" / "bin" / "ridgeline"))
HEAD = [
    "script",
    "samples",
    "batch",
    "step found by",
    "step, ms",
    "by marks",
    "thread ran, ms: alone",
    "under run",
    "peak, bytes",
    "by torch.profiler",
]
WARMUP = 3  # steps of a loop of one's own


@dataclass(frozen=True)
class Case:
    name: str
    script: str
    samples: str  # of a step, by the script's text
    end: str  # the line before which a step has ended begins so
    arguments: str = ""


CASES = [
    Case("mnist", "mnist/main.py", "64", "if batch_idx % args.log_interval"),
    Case("mnist_rnn", "mnist_rnn/main.py", "64", "if batch_idx % args.log_interval"),
    Case("vae", "vae/main.py", "128", "if batch_idx % args.log_interval"),
    Case("word_language_model", "word_language_model/main.py", "20", "total_loss += loss.item()"),
    Case(
        "word_language_model, Transformer",
        "word_language_model/main.py",
        "20",
        "total_loss += loss.item()",
        "--model Transformer --lr 5",
    ),
    Case("regression", "regression/main.py", "32", "# Stop criterion"),
    Case("time_sequence_prediction", "time_sequence_prediction/train.py", "97", "# begin to predict", "--steps 40"),
    Case("reinforce", "reinforcement_learning/reinforce.py", "of an episode", "del policy.rewards"),
    Case(
        "super_resolution",
        "super_resolution/main.py",
        "4",
        'print("===> Epoch[{}]',
        "--upscale_factor 3 --batchSize 4 --testBatchSize 10 --nEpochs 30 --lr 0.001 --threads 1",
    ),
    Case("siamese_network", "siamese_network/main.py", "16", "if batch_idx % args.log_interval", "--batch-size 16"),
    Case(
        "mnist_forward_forward",
        "mnist_forward_forward/main.py",
        "2000",
        "if i % args.log_interval",
        "--train_size 2000 --test_size 500",
    ),
    Case("gcn", "gcn/main.py", "2708 nodes", "# Evaluate the model performance", "--epochs 2000"),
    Case(
        "dcgan",
        "dcgan/main.py",
        "8",
        "print('[%d/%d][%d/%d]",
        "--dataset fake --batchSize 8 --workers 1 --ngf 32 --ndf 32 --outf /tmp",
    ),
    Case(
        "nanoGPT",
        "nanoGPT/train.py",
        "48",
        "scaler.update()",
        "--device=cpu --compile=False --dtype=float32 --dataset=shakespeare_char --n_layer=2 --n_head=2 --n_embd=64 "
        "--block_size=64 --batch_size=12 --gradient_accumulation_steps=4 --eval_iters=5 --eval_interval=50",
    ),
]


def output_of(folder: Path, *command: str | Path) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def own(case: Case, folder: Path, mode: str) -> list[str | Path]:
    """The command that measures the script without Ridgeline."""
    script = folder / case.script
    return [sys.executable, HERE / "own_loop.py", mode, case.end, script, *case.arguments.split()]


def reported(folder: Path, seconds: float, *command: str | Path) -> tuple[dict[str, Any], str]:
    """The report, and what the command printed."""
    with tempfile.TemporaryDirectory() as out:
        file = Path(out) / "report.json"
        options = ("--stop", "--seconds", str(seconds), "--format", "json", "--output", file)
        printed = output_of(folder, BINARY, "profile", *options, "--", *command)
        report: dict[str, Any] = json.loads(file.read_text())
        return report, printed


def last_line(printed: str) -> Any:
    """The last one that is JSON: other threads of the script may print when it ends."""
    for line in reversed(printed.splitlines()):
        with contextlib.suppress(ValueError):
            return json.loads(line)
    raise SystemExit(f"an own loop printed nothing:\n{printed[-2000:]}")


def figures(case: Case, data: Path) -> list[str]:
    """One row of the table. The machine may be busy: the step that a report states is compared with marks in the same
    steps, and what marks see without Ridgeline by the time in which the thread ran."""
    folder = (data / case.script).parent
    alone = last_line(output_of(folder, *own(case, data, "time")))[WARMUP:]
    script = (sys.executable, Path(case.script).name, *case.arguments.split())
    report, _ = reported(folder, 0.5, *script)
    timed, printed = reported(folder, 3.0, *own(case, data, "follow"))
    steps = last_line(printed)[-int(timed["script"]["whole"]["steps"]) :]
    peak = int(last_line(output_of(folder, *own(case, data, "peak"))))
    stated, bytes_stated = timed["iteration"]["timeMs"], report["memory"]["peakBytes"]
    marks = median(ms for ms, _ in steps)
    doubt = report["script"]["samples"]["doubt"]
    return [
        case.name,
        case.samples,
        f"{report['entry']['batchSize']}{f' ({doubt})' if doubt else ''}",
        report["script"]["step"]["endsAt"],
        f"{stated:.4g}",
        f"{marks:.4g} ({stated / marks - 1:+.1%})",
        f"{median(ran for _, ran in alone):.4g}",
        f"{median(ran for _, ran in steps):.4g}",
        f"{bytes_stated:,}",
        f"{peak:,} ({bytes_stated / peak - 1:+.2%})",
    ]
