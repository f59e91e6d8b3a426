"""what_if_calibration.py [--models A,B] [--results FILE] [--try-seconds S] [--table-only] [--held-out]: what is missed.

For each of the small entry points in `tests/bench/calibration`, `ridgeline what-if --try`: every usual change, and all
of them together, is predicted and tried. A line of JSON for each model is appended to the results, and a model that is
there is left out, so that this may be stopped and begun again. Then `server/step/changes/residuals.h`, which widens the
intervals of predictions, is written from all results (how: server/step/changes/calibration.h), and what is left outside
of intervals when each model in turn is held out is printed.

`--held-out` asks the same of the entry points `held_*.py`, which the table is never made from, with the intervals as
users get them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared import HERE, ROOT
from what_if import ask

FOLDER = HERE / "calibration"
HELD_OUT = sorted(path.stem for path in FOLDER.glob("held_*.py"))
MODELS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("steps", *HELD_OUT))
RESULTS = FOLDER / "results.jsonl"
HELD_OUT_RESULTS = FOLDER / "held_out.jsonl"
TABLE = ROOT / "server" / "step" / "changes" / "residuals.h"
CHANGES = ("bf16-autocast", "channels-last", "foreach-optimizer", "fused-optimizer", "accumulate:2", "checkpoint")
LEVEL = 0.9  # of models
MOST_NOISE = 0.15  # half of a trial's interval, of logarithms: of a noisier one nothing is learnt
LEAST_SHARES = (0.9, 0.5)  # below the last, nothing is predicted
KINDS = {
    "bf16-autocast": "autocast",
    "fp16-autocast": "autocast",
    "foreach-optimizer": "optimizer",
    "fused-optimizer": "optimizer",
    "channels-last": "channels-last",
    "checkpoint": "checkpoint",
    "selective-checkpoint": "checkpoint",
    "accumulate": "accumulate",
}  # as kind_of() of server/step/changes/calibration.cpp has them


@dataclass(frozen=True)
class Pair:
    """A change of a model, predicted and tried. Intervals are of logarithms of speed-ups."""

    model: str
    kind: str
    share: float
    predicted: tuple[float, float, float]  # value, low, high
    tried: tuple[float, float, float]

    @property
    def residual(self) -> float:
        """How far the trial lies outside of the predicted interval, without what is the trial's own noise: as of
        independent errors."""
        value, low, high = self.tried
        outside = max(self.predicted[1] - value, value - self.predicted[2], 0.0)
        return math.sqrt(max(0.0, outside**2 - ((high - low) / 2) ** 2))

    @property
    def is_quiet(self) -> bool:
        return (self.tried[2] - self.tried[1]) / 2 <= MOST_NOISE

    def is_inside(self, widening: float) -> bool:
        return self.residual <= widening + 1e-12

    def width(self, widening: float) -> float:
        return math.exp((self.predicted[2] - self.predicted[1]) / 2 + widening) - 1


@dataclass(frozen=True)
class Row:
    """As step::Residual."""

    kind: str
    least_share: float
    models: int
    pairs: int
    widening: float


def kind_of(change: list[str]) -> str:
    return "combined" if len(change) > 1 else KINDS.get(change[0].partition(":")[0], "any")


def pairs_of(line: dict[str, Any], predicted: str = "predicted") -> list[Pair]:
    def logs(speed_up: dict[str, float]) -> tuple[float, float, float]:
        return math.log(speed_up["value"]), math.log(speed_up["low"]), math.log(speed_up["high"])

    return [
        Pair(line["model"], kind_of(one["change"]), one["share"], logs(one[predicted]), logs(one["tried"]))
        for one in line["pairs"]
    ]


def quantile(residuals: Iterable[float], level: float) -> float:
    """The smallest residual that a new model's is not above with at least this probability; the largest where there are
    too few models for that."""
    ordered = sorted(residuals)
    rank = math.ceil((len(ordered) + 1) * level)
    return ordered[min(rank, len(ordered)) - 1]


def row_of(kind: str, least_share: float, pairs: list[Pair], level: float) -> Row:
    """The residual of a model is that of its worst pair."""
    worst: dict[str, float] = {}
    for pair in pairs:
        worst[pair.model] = max(worst.get(pair.model, 0.0), pair.residual)
    return Row(kind, least_share, len(worst), len(pairs), quantile(worst.values(), level))


def table_of(pairs: list[Pair], level: float = LEVEL) -> list[Row]:
    """By kind, and by share of what changes that was measured."""
    rows = [row_of("any", LEAST_SHARES[-1], pairs, level)] if pairs else []
    for kind in sorted({pair.kind for pair in pairs} - {"any"}):
        above = math.inf
        for least in LEAST_SHARES:
            chosen = [pair for pair in pairs if pair.kind == kind and least <= pair.share < above]
            rows += [row_of(kind, least, chosen, level)] if chosen else []
            above = least
    return rows


def widening_of(rows: list[Row], kind: str, share: float) -> float:
    """As step::widening_of()."""
    own = [row for row in rows if row.kind == kind]
    if not own:
        return widening_of(rows, "any", share) if kind != "any" else 0.0
    least = max((row.least_share for row in own if row.least_share <= share), default=-1.0)
    return max(row.widening for row in own if row.least_share >= least)


def text_of(rows: list[Row], level: float, made_on: str) -> str:
    lines = "\n".join(
        f'    {{"{row.kind}", {row.least_share}, {row.models}, {row.pairs}, {row.widening:.4f}}},' for row in rows
    )
    return f"""// Written by `./dev bench what-if-calibration`; see docs/dev/architecture/what-if.md. Do not edit.
// {made_on}
#pragma once

#include <array>

#include "step/changes/calibration.h"

namespace ridgeline::step {{

inline constexpr double kCalibratedLevel = {level};
inline constexpr std::array<Residual, {len(rows)}> kResiduals = {{{{
{lines}
}}}};

}}  // namespace ridgeline::step
"""


def held_out(pairs: list[Pair], level: float = LEVEL) -> str:
    """What is inside when the table is made without the model that it is used for, and how wide intervals are."""
    inside, widths, whole = 0, [], 0
    models = sorted({pair.model for pair in pairs})
    for model in models:
        rows = table_of([pair for pair in pairs if pair.model != model], level)
        own = [pair for pair in pairs if pair.model == model]
        widening = {id(pair): widening_of(rows, pair.kind, pair.share) for pair in own}
        found = [pair.is_inside(widening[id(pair)]) for pair in own]
        inside += sum(found)
        whole += all(found)
        widths += [pair.width(widening[id(pair)]) for pair in own]
    before = sum(pair.is_inside(0) for pair in pairs)
    return (
        f"{len(models)} models, {len(pairs)} pairs. Each model held out: {inside} pairs inside (before: {before}), "
        f"{whole} models with all inside; median half width {100 * statistics.median(widths):.0f} % "
        f"(before: {100 * statistics.median(pair.width(0) for pair in pairs):.0f} %)"
    )


def read(results: Path) -> list[dict[str, Any]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text("utf-8").splitlines() if line.strip()]


def collect(model: str, results: Path, try_time: float) -> None:
    answer = ask(model, list(CHANGES), try_time, entry=FOLDER / f"{model}.py", options=("--measure-seconds", "20"))
    if answer is None:
        return
    pairs = [
        {
            "change": row["change"],
            "share": row["predicted"]["measuredShare"],
            "predicted": row["predicted"]["uncalibrated"],
            "shown": row["predicted"]["speedUp"],
            "tried": row["tried"]["speedUp"],
        }
        for row in answer["changes"]
        if row["predicted"] and row["tried"]
    ]
    line = {"model": model, "device": answer["device"], "stepMs": answer["stepMs"], "pairs": pairs}
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{model}: {len(pairs)} pairs", flush=True)


def collect_missing(models: list[str], results: Path, try_time: float) -> None:
    done = {line["model"] for line in read(results)}
    for model in models:
        if model not in done:
            collect(model, results, try_time)


def quiet_pairs(lines: list[dict[str, Any]], predicted: str = "predicted") -> list[Pair]:
    """Those whose trials say something; ends where there are none."""
    found = [pair for line in lines for pair in pairs_of(line, predicted)]
    pairs = [pair for pair in found if pair.is_quiet]
    print(f"{len(found) - len(pairs)} of {len(found)} pairs are left out: their trials say too little.")
    if not pairs:
        sys.exit("There are no results: the machine has to be quiet.")
    return pairs


def run(models: list[str], results: Path, try_time: float) -> None:
    collect_missing(models, results, try_time)
    make_table(results)


def make_table(results: Path) -> None:
    lines = read(results)
    pairs = quiet_pairs(lines)
    devices = ", ".join(sorted({line["device"] for line in lines}))
    rows = table_of(pairs)
    TABLE.write_text(text_of(rows, LEVEL, f"{len(lines)} models on {devices}, {os.cpu_count()} processors."), "utf-8")
    for row in rows:
        print(f"{row.kind} from {row.least_share}: {row.models} models, {row.pairs} pairs, {100 * row.widening:.1f} %")
    print(held_out(pairs))
    print(f"{platform.machine()}: {TABLE.relative_to(ROOT)} is written; build and commit it.")


def check_held_out(results: Path) -> None:
    """Whether the intervals that users are shown hold on models that the table was not made from."""
    pairs = quiet_pairs(read(results), "shown")
    for pair in pairs:
        predicted, tried = ([f"{math.exp(value):.2f}" for value in of] for of in (pair.predicted, pair.tried))
        verdict = "inside" if pair.is_inside(0) else "OUTSIDE"
        print(f"{pair.model:18}{pair.kind:14}{' '.join(predicted):16}{' '.join(tried):16}{verdict}")
    inside = sum(pair.is_inside(0) for pair in pairs)
    wrong = sum(
        pair.predicted[1] > 0 > pair.tried[2] or pair.predicted[2] < 0 < pair.tried[1] for pair in pairs
    )  # both intervals leave no doubt, and contradict each other
    widths = statistics.median(pair.width(0) for pair in pairs)
    models = len({pair.model for pair in pairs})
    print(
        f"{models} models, {len(pairs)} pairs: {inside} inside, {wrong} of the wrong sign, "
        f"median half width {100 * widths:.0f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--try-seconds", type=float, default=2.0)
    parser.add_argument("--table-only", action="store_true", help="nothing is run")
    parser.add_argument("--held-out", action="store_true", help="checks the table on other models")
    options = parser.parse_args()
    if options.held_out:
        collect_missing(HELD_OUT, HELD_OUT_RESULTS, options.try_time)
        check_held_out(HELD_OUT_RESULTS)
        return
    unknown = set(options.models.split(",")) - set(MODELS)
    if unknown:
        parser.error(f"no model is called {', '.join(sorted(unknown))}: {', '.join(MODELS)}")
    if options.table_only:
        make_table(options.results)
    else:
        run(options.models.split(","), options.results, options.try_time)


if __name__ == "__main__":
    main()
