"""python -m faults.soak [MINUTES [SEED [LEAST]]], in tests/integration: a daemon that is used and abused at random,
until the time is over and LEAST faults (1,000) were tried.

Prints what it used and how soon it answered; exits with 1 when something did not hold.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass
from random import Random
from statistics import quantiles

from . import FAULTS
from .world import GOOD, World

PERIODS = 10
USE = "a user's work"
FLAT = 1.25  # memory of the last period, by the one after the first


def use(world: World, random: Random) -> None:
    """A while of a user's work: a profile, edits, saves, drags, and an editor that closes or breaks off."""
    source = GOOD.replace("torch.nn.Linear(8, 8)", f"torch.nn.Linear(8, {random.randint(4, 64)})")
    with world.editor(source) as editor:
        entry = editor.folder / "entry.py"
        document = editor.open(entry)
        size = editor.ask("ridgeline/profile", document)["batchSize"]
        for _ in range(random.randint(1, 6)):
            action = random.choice(["edit", "save", "drag", "look"])
            if action == "edit":
                editor.type_over(
                    entry.as_uri(), "import os", "import os " if random.random() < 0.5 else "import os, json"
                )
            elif action == "save":
                editor.changes.clear()
                editor.type_over(entry.as_uri(), "lr=0.", "lr=0.0")
                editor.save(entry)
                editor.settled()
            elif action == "drag":
                for size in random.sample(range(1, 200), random.randint(1, 30)):
                    answer = editor.ask("ridgeline/setBatchSize", document | {"batchSize": size})
                    assert answer["applied"], answer
                assert f"batch_size={size})" in editor.texts[entry.as_uri()]
            else:
                line = random.randrange(len(editor.texts[entry.as_uri()].splitlines()))
                editor.ask("textDocument/hover", document | {"position": {"line": line, "character": 4}})
                summary = editor.ask("ridgeline/summary", document)
                editor.ask("ridgeline/lineCosts", document | {"profileId": summary["profileId"]})


@dataclass(frozen=True)
class Period:
    seconds: float
    done: int
    latencies: list[float]
    memory: int
    descriptors: int


def milliseconds(latencies: list[float]) -> list[str]:
    ranks = quantiles(latencies, n=100, method="inclusive") if len(latencies) > 1 else [*latencies] * 99
    return [f"{1000 * value:.1f}" for value in (ranks[49], ranks[98], max(latencies))]


def rows_of(periods: list[Period]) -> list[str]:
    rows = [
        "| after | faults and uses | answer, median ms | 99 % | longest | memory | descriptors |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for period in periods:
        times = " | ".join(milliseconds(period.latencies))
        use = f"{period.memory >> 20} MiB | {period.descriptors}"
        rows.append(f"| {period.seconds / 60:.1f} min | {period.done} | {times} | {use} |")
    return rows


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = sys.argv[2] if len(sys.argv) > 2 else str(time.time_ns())
    least = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    print(f"{minutes:g} min, at least {least} faults, seed {seed}", flush=True)
    random, start, tried = Random(seed), time.monotonic(), Counter[str]()
    world = World()
    periods: list[Period] = []
    faults, since = 0, 0
    slowest: list[tuple[float, str]] = []
    try:
        while time.monotonic() - start < 60 * minutes or faults < least:
            if random.random() < 0.2:
                name, do = USE, use
            else:
                each = random.choice(FAULTS)
                name, do, faults = f"{each.group}: {each.name}", each.do, faults + 1
            number = tried.total()
            try:
                do(world, Random(f"{seed} {number}"))
                world.check()
            except BaseException:
                print(f"number {number} did not hold: {name}\n{world.daemon.words()[-3000:]}", flush=True)
                raise
            tried[name] += 1
            slowest = sorted([*slowest, (world.latencies[-1], name)])[-5:]
            passed = time.monotonic() - start
            if passed >= 60 * minutes * (len(periods) + 1) / PERIODS:
                usage = world.usage()
                periods.append(
                    Period(passed, tried.total(), world.latencies[since:], world.memory(), usage.descriptors)
                )
                since = len(world.latencies)
                print(rows_of(periods)[-1], flush=True)
        world.check_that_it_works()
    finally:
        world.end()
    print("\n".join(["", *rows_of(periods), "", "| times | what |", "|--:|---|"]))
    print("\n".join(f"| {count} | {name} |" for name, count in sorted(tried.items())))
    print(
        "\nthe longest answers: "
        + "; ".join(f"{1000 * seconds:.0f} ms after {name}" for seconds, name in slowest[::-1])
    )
    flat = periods[-1].memory <= FLAT * periods[1].memory
    print(f"\n{faults} faults, {tried[USE]} uses; memory is {'' if flat else 'NOT '}flat")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
