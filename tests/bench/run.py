"""`./dev bench [NAME...]`: runs the benchmarks and prints their tables as Markdown.

With `--keep` it writes them to docs/dev/results, and docs/dev/accuracy.md and docs/dev/performance.md from these.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import platform
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import accuracy
import assistant
import channel_padding
import clocks
import cluster
import collectives
import compiled
import estimators
import far_peaks
import fits
import flops
import hardware
import injected
import job_changes
import job_replay
import language_server
import many_ranks
import network_changes
import observed
import operation_timers
import own_kernels
import padding
import pages
import pipeline
import plain_loops
import public_scripts
import remote
import reserved
import results
import roofline
import scaled_times
import script_entries
import script_runs
import slowed_revisions
import steps_of_ranks
import what_if
import what_if_calibration
import white_box
import zero
from own_speed import (
    bench_analysis,
    bench_cancel,
    bench_models,
    bench_overhead,
    bench_profile,
    bench_simulate,
    bench_source,
    newest_agent,
)
from shared import BENCHES, BINARY, ROOT, Copied, commit, machine, run_json, table
from traces import bench_import, bench_replay, bench_what_if_traces


def bench_accuracy(rounds: int, arguments: argparse.Namespace) -> None:
    """Predictions at unsampled batch sizes against real runs; here a round is ten seconds of time budget."""
    seed = random.randrange(1_000_000) if arguments.seed is None else arguments.seed
    options = accuracy.Options(arguments.models, seed, arguments.sizes, 10.0 * rounds, arguments.figures)
    accuracy.run(BINARY, table, options)


def bench_reserved(rounds: int) -> None:
    """What CUDA's caching allocator would reserve for the examples, predicted and by serving all that they ask for."""
    print("### Reserved memory\n")
    reserved.run(BENCHES / "ridgeline_reserved_bench", newest_agent(), table)


def bench_scripts(rounds: int) -> None:
    """Training scripts under `ridgeline profile`, against the same scripts alone."""
    print("### Scripts under `ridgeline profile`\n")
    table(
        [
            "script",
            "ranks",
            "batch",
            "optimizers",
            "time adds up to",
            "memory to the byte",
            "peak, bytes",
            "by torch.profiler",
            "same weights",
        ],
        [script_runs.figures(case) for case in script_runs.CASES],
    )
    table(["mnist", "script", "entry point"], script_runs.same_as_entry_point())
    table(["", "under ridgeline profile", "against itself"], script_runs.overhead(rounds))


def bench_public_scripts(rounds: int, arguments: argparse.Namespace) -> None:
    """Scripts of pytorch/examples and nanoGPT below --data, unchanged, beside own loops."""
    print("### Public scripts under `ridgeline profile`\n")
    if arguments.data is None:
        print("Skipped: name a folder with pytorch/examples, nanoGPT and their data with --data.")
        return
    table(
        public_scripts.HEAD, [public_scripts.figures(case, arguments.data.resolve()) for case in public_scripts.CASES]
    )


def bench_compare(rounds: int) -> None:
    """Revisions of which the second has a line that takes 5 % of the step, and revisions against themselves."""
    print("### Revisions compared\n")
    head = ["example", "step, ms", "with 5 % more", "lines that differ", "against itself", "lines that differ"]
    table(head, slowed_revisions.rows(rounds))


def bench_check(rounds: int) -> None:
    """Examples with a line that takes longer than their baseline had it, and unchanged ones."""
    print("### Budgets checked\n")
    head = ["example", "step, ms", "unchanged", *(f"{added:.0%} more" for added in slowed_revisions.CHECKED if added)]
    table(head, slowed_revisions.check_rows(rounds))


def bench_injected(rounds: int, arguments: argparse.Namespace) -> None:
    """Known times and allocations, injected into a script: so many of the six draws."""
    print("### Injected times and allocations\n")
    injected.run(BINARY, table, arguments.seed or 1, rounds)


def bench_server(rounds: int) -> None:
    """What an editor waits for."""
    print("### The language server\n")
    language_server.run(BINARY, table, rounds)


def bench_vscode(rounds: int) -> None:
    """What one sees in VS Code, in a browser: the markers after a save, and predictions while a bar is dragged."""
    print("### VS Code\n")
    result = run_json("node", ROOT / "tests" / "editors" / "vscode" / "bench.mjs", str(rounds))
    saves, drags = result["paintedMs"], result["drags"]
    table(
        ["", "median", "worst"],
        [
            ["from save to painted markers, ms", f"{median(saves):.0f}", f"{max(saves):.0f}"],
            *[
                [title, f"{median(drag[name] for drag in drags):.0f}", f"{worst(drag[name] for drag in drags):.0f}"]
                for name, title, worst in (
                    ("asked", "moves of the pointer per second", min),
                    ("answered", "predictions shown per second", min),
                    ("settledMs", "from the last move to its prediction, ms", max),
                )
            ],
        ],
    )


def bench_remote(rounds: int) -> None:
    """Neovim here, the profiles on another machine."""
    print("### Another machine\n")
    remote.run(BINARY, table, rounds)


def bench_hardware(rounds: int, arguments: argparse.Namespace) -> None:
    """Estimators across devices against public tables. One round: the tables do not change."""
    del rounds
    hardware.run(arguments.data, BINARY, BENCHES / "ridgeline_work_probe", table)


def bench_scaling(rounds: int, arguments: argparse.Namespace) -> None:
    """Times scaled between GPUs against public tables. One round: the tables do not change."""
    del rounds
    scaled_times.run(arguments.data, BINARY, BENCHES / "ridgeline_work_probe", table)


def bench_estimators(rounds: int) -> None:
    """Measured for minutes: one round."""
    del rounds
    estimators.run(BINARY, table)


def bench_roofline(rounds: int, arguments: argparse.Namespace) -> None:
    """Nothing is measured: one round."""
    del rounds
    roofline.run(arguments.data, BENCHES / "ridgeline_work_probe", table)


def bench_white_box(rounds: int, arguments: argparse.Namespace) -> None:
    """One round, on all cores. Needs what `ridgeline machine measure` measured."""
    del rounds
    threads = os.cpu_count() or 1
    white_box.run(BINARY, table, arguments.data, arguments.seed or 1, threads, arguments.figures)


def bench_timers(rounds: int) -> None:
    """In turns: one round has several of each."""
    del rounds
    operation_timers.run(table)


def bench_flops(rounds: int) -> None:
    """Nothing is measured: one round."""
    del rounds
    print("### FLOPs of the examples, by shapes and by torch\n")
    table(
        ["example", "GFLOP by shapes", "by torch", "operators that differ"],
        flops.rows(BENCHES / "ridgeline_work_probe"),
    )


def bench_observations(rounds: int) -> None:
    """So many seconds for each example. Needs what `ridgeline machine measure` measured."""
    print("### Observations of the examples\n")
    table(["example", *map(str, range(1, 13))], observed.rows(BINARY, rounds, observed.CASES))


def bench_padding(rounds: int, arguments: argparse.Namespace) -> None:
    """On one thread and on two. So many seconds for each of 30 shapes."""
    for threads in (1, 2):
        padding.run(BENCHES / "ridgeline_work_probe", table, arguments.seed or 2, threads, rounds)


def bench_channel_padding(rounds: int, arguments: argparse.Namespace) -> None:
    """On one thread and on two. So many seconds for each of 30 shapes."""
    for threads in (1, 2):
        channel_padding.run(table, arguments.seed or 1, threads, rounds)


def bench_kernels(rounds: int, arguments: argparse.Namespace) -> None:
    """One round. Needs what `ridgeline machine measure` measured."""
    del rounds
    own_kernels.run(BINARY, table, arguments.seed or 1, arguments.figures, arguments.against)


def bench_compiled(rounds: int) -> None:
    """Compiled steps line by line, and what knowing the lines adds to the compiler's time."""
    print("### Compiled steps\n")
    compiled.run(rounds)


def bench_plain_loops(rounds: int) -> None:
    """The step that a report states against a loop of one's own: so many processes of it."""
    print("### The step of a report, and a plain loop\n")
    table(plain_loops.HEAD, plain_loops.rows(BINARY, rounds))


def bench_script_entries(rounds: int, arguments: argparse.Namespace) -> None:
    """Scripts against entry points of the same step: so many examples."""
    print("### Scripts and entry points of the same step\n")
    rows = script_entries.run(BINARY, rounds, arguments.seed or 1)
    table(script_entries.STEP_HEAD, rows.steps)
    table(script_entries.SIZE_HEAD, rows.sizes)
    table(script_entries.CHANGE_HEAD, rows.changes)
    print(rows.summary(), flush=True)


def bench_devices(rounds: int) -> None:
    """The answer for 20 devices, from times and estimators that are there."""
    print("### The answer for 20 devices\n")
    with tempfile.TemporaryDirectory() as folder:
        runs = [run_json(BENCHES / "ridgeline_devices_bench", folder)[0] for _ in range(rounds)]
    table(
        ["devices", "operations", "median, ms", "worst, ms"],
        [
            [str(run["devices"]), str(run["operations"]), f"{run['medianMs']:.1f}", f"{run['worstMs']:.1f}"]
            for run in runs
        ],
    )


def bench_job_replay(rounds: int, arguments: argparse.Namespace) -> None:
    print("## Replay of recorded jobs\n")
    table(
        ["model, exchange, link", "recorded step", "replayed"],
        job_replay.linked_rows(BINARY, rounds, arguments.bandwidths or job_replay.RATES),
    )


def bench_jobs(rounds: int) -> None:
    print("## Replay of recorded jobs\n")
    table(["model, bucket", "recorded step", "replayed"], job_replay.rows(BINARY, rounds))
    print("\n## A rank without its sleep of 20 ms, predicted and then run\n")
    table(["model", "with", "predicted", "run", "error", "a second run"], job_changes.rows(BINARY))
    print("\n## Other networks and buckets of recorded jobs, predicted and then run\n")
    table(network_changes.HEAD, network_changes.rows(BINARY))
    print("\n## The best bucket size, searched and run\n")
    table(network_changes.BEST_HEAD, network_changes.best_rows(BINARY))
    print("\n## The best of bucket size, micro-batches and recomputation, searched and run\n")
    table(network_changes.SPACE_HEAD, network_changes.space_rows(BINARY))


def bench_cluster(rounds: int, arguments: argparse.Namespace) -> None:
    print("## Jobs predicted from one process\n")
    for _ in range(rounds):
        cluster.run(BINARY, table, arguments.bandwidths or cluster.RATES, arguments.jobs, arguments.ranks)
    print("### All-reduces that others measured\n")
    collectives.run(BENCHES / "ridgeline_collective_bench", table, arguments.data)


def bench_clocks(rounds: int) -> None:
    """Each recorded job has several draws of clocks: one round."""
    del rounds
    print("## Clocks of machines, found again\n")
    table(clocks.HEAD, clocks.rows(BINARY))


def bench_optimize(rounds: int) -> None:
    """The search on a large job. One round."""
    del rounds
    print("## The best strategy of BERT base on 16 ranks\n")
    table(many_ranks.HEAD, many_ranks.rows(BINARY))


def table_with_errors(head: list[str], found: list[tuple[list[str], float]], of: str) -> None:
    """The rows, and what their errors are of all."""
    table(head, [row for row, _ in found])
    errors = sorted(abs(error) for _, error in found)
    print(f"{len(errors)} {of}: median error {median(errors):.1%}, worst {errors[-1]:.1%}.\n", flush=True)


def bench_zero(rounds: int) -> None:
    """Peaks do not vary, and runs repeat where they were disturbed: one round."""
    del rounds
    print("## Peaks of ranks with ZeRO, predicted and recorded\n")
    table(zero.HEAD, zero.rows(BINARY))
    print("## Steps of ranks with ZeRO, predicted from one process and run\n")
    if os.geteuid() != 0:
        print("skipped: network namespaces need root\n")
        return
    table_with_errors(zero.TIME_HEAD, list(zero.time_rows(BINARY)), "jobs")


def bench_pipeline(rounds: int) -> None:
    """Runs repeat where they were disturbed: one round."""
    del rounds
    print("## Pipelines, predicted from one process and run\n")
    if os.geteuid() != 0:
        print("skipped: network namespaces need root\n")
        return
    table_with_errors(pipeline.HEAD, list(pipeline.rows(BINARY)), "pipelines")


def bench_ranks(rounds: int, arguments: argparse.Namespace) -> None:
    """Data-parallel steps against a public table. One round: the table does not change."""
    del rounds
    steps_of_ranks.run(arguments.data, BENCHES / "ridgeline_work_probe", table)


def bench_what_if(rounds: int) -> None:
    """What changes of the examples are predicted to bring against what they bring: so many seconds for each trial."""
    print("### What changes bring, predicted and tried\n")
    what_if.run(what_if.EXAMPLES, [], rounds)


def bench_what_if_calibration(rounds: int) -> None:
    """How far predictions of what-if miss on small models of many kinds: so many seconds for each trial. Goes on where
    it was stopped, and writes what intervals are widened by."""
    print("### Intervals of predicted changes\n")
    what_if_calibration.run(what_if_calibration.MODELS, what_if_calibration.RESULTS, rounds)


def bench_far_peaks(rounds: int) -> None:
    far_peaks.run(table, rounds)


def bench_fits(rounds: int) -> None:
    """Peaks do not change: one round."""
    del rounds
    fits.run(table)


def bench_assistant(rounds: int) -> None:
    """Tools for assistants: so many seconds for each example's profile."""
    assistant.run(table, rounds)


BENCHMARKS: dict[str, tuple[Callable[..., None], int]] = {
    "overhead": (bench_overhead, 15),
    "analysis": (bench_analysis, 5),
    "models": (bench_models, 5),
    "import": (bench_import, 5),
    "simulate": (bench_simulate, 5),
    "replay": (bench_replay, 1),
    "what-if-traces": (bench_what_if_traces, 1),
    "source": (bench_source, 3),
    "server": (bench_server, 2),
    "remote": (bench_remote, 3),
    "vscode": (bench_vscode, 10),
    "profile": (bench_profile, 3),
    "cancel": (bench_cancel, 5),
    "scripts": (bench_scripts, 8),
    "public-scripts": (bench_public_scripts, 1),
    "script-entries": (bench_script_entries, 10),
    "compare": (bench_compare, 10),
    "check": (bench_check, 2),
    "injected": (bench_injected, 6),
    "roofline": (bench_roofline, 1),
    "white-box": (bench_white_box, 1),
    "hardware": (bench_hardware, 1),
    "scaling": (bench_scaling, 1),
    "estimators": (bench_estimators, 1),
    "timers": (bench_timers, 1),
    "flops": (bench_flops, 1),
    "compiled": (bench_compiled, 3),
    "plain-loops": (bench_plain_loops, 2),
    "observations": (bench_observations, 5),
    "devices": (bench_devices, 1),
    "padding": (bench_padding, 2),
    "channel-padding": (bench_channel_padding, 2),
    "kernels": (bench_kernels, 1),
    "jobs": (bench_jobs, 3),
    "job-replay": (bench_job_replay, 1),
    "cluster": (bench_cluster, 1),
    "clocks": (bench_clocks, 1),
    "optimize": (bench_optimize, 1),
    "zero": (bench_zero, 1),
    "pipeline": (bench_pipeline, 1),
    "ranks": (bench_ranks, 1),
    "what-if": (bench_what_if, 4),
    "what-if-calibration": (bench_what_if_calibration, 2),
    "assistant": (bench_assistant, 1),
    "far-peaks": (bench_far_peaks, 4),
    "fits": (bench_fits, 1),
    "accuracy": (bench_accuracy, 2),
    "reserved": (bench_reserved, 1),
}


def model_names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in accuracy.CASES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no model is called {unknown[0]!r}: {', '.join(accuracy.CASES)}")
    return names


WITH_ARGUMENTS = (
    bench_accuracy,
    bench_channel_padding,
    bench_cluster,
    bench_hardware,
    bench_injected,
    bench_job_replay,
    bench_kernels,
    bench_padding,
    bench_public_scripts,
    bench_ranks,
    bench_replay,
    bench_roofline,
    bench_scaling,
    bench_script_entries,
    bench_what_if_traces,
    bench_white_box,
)


def keep(name: str, printed: str) -> None:
    """Writes the result file of a benchmark that has run, and the pages; nothing where it was skipped."""
    if not results.tables_of(printed):
        print(f"{name} printed no table: nothing is kept\n", flush=True)
        return
    before = results.load(name) if results.path_of(name).exists() else None
    run = {
        "name": name,
        "command": results.command_of(name, sys.argv[1:], frozenset(BENCHMARKS)),
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "commit": commit(),
    }
    result = results.updated(before, printed, run)
    path = results.save(result)
    print(f"wrote {path.relative_to(ROOT)}")
    missing = [figure["title"] for figure in result["figures"] if figure["value"] is None]
    if missing:
        print(f"no table has these figures: write them there by hand, and run {pages.REWRITE}: {'; '.join(missing)}")
    if result["short"]:
        print("`short` says how an earlier run fell short: read it again")
    print(flush=True)
    pages.write()


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument(
        "--keep", action="store_true", help="write the tables to docs/dev/results, and the pages from these"
    )
    parser.add_argument("--rounds", type=int, help="rounds of each benchmark, in place of its own number")
    parser.add_argument(
        "--data",
        type=Path,
        help="replay, what-if-traces: a folder with traces of torch.profiler (.json.gz) and reports of Nsight Systems "
        "(.sqlite[.xz]); roofline: a folder with Roller's table of operators; hardware, scaling: with NeuSight's, "
        "aiconfigurator's and DeepBench's tables; "
        "cluster: with NCCL's times; ranks: with PyTorch's times of DistributedDataParallel; "
        "public-scripts: with pytorch/examples and nanoGPT",
    )
    parser.add_argument(
        "--bandwidths",
        type=lambda text: text.split(","),
        help="job-replay, cluster: of the links between the ranks, as tc has them, such as 4gbit,1gbit",
    )
    parser.add_argument(
        "--jobs",
        type=lambda text: text.split(","),
        default=list(cluster.BATCHES),
        help=f"cluster: models of the jobs; {','.join(cluster.BATCHES)}",
    )
    parser.add_argument(
        "--ranks",
        type=lambda text: [int(word) for word in text.split(",")],
        default=[cluster.RANKS],
        help="cluster: how many ranks the jobs have, such as 2,4; 2",
    )
    parser.add_argument(
        "--against",
        type=lambda text: tuple(text.split(",")),
        default=own_kernels.OTHERS,
        help=f"kernels: what programs are compared with beside torch; {','.join(own_kernels.OTHERS)}",
    )
    group = parser.add_argument_group("accuracy", "A round is ten seconds of time budget for each model.")
    group.add_argument("--models", type=model_names, default=tuple(accuracy.CASES), help="separated by commas; all")
    group.add_argument("--seed", type=int, help="draws the batch sizes that are checked; by default a random one")
    group.add_argument("--sizes", type=int, default=4, help="checked inside of the sampled range, and outside of it; 4")
    group.add_argument(
        "--figures", type=Path, help="a file that keeps what was measured: a model that it holds is not measured again"
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}")
    processor = platform.processor() or platform.machine()
    print(f"{processor}, {os.cpu_count()} processors, Python {platform.python_version()}\n")
    for name in arguments.names or BENCHMARKS:
        benchmark, rounds = BENCHMARKS[name]
        more = {"arguments": arguments} if benchmark in WITH_ARGUMENTS else {}
        copied = Copied(sys.stdout)
        with contextlib.redirect_stdout(copied):
            benchmark(arguments.rounds or rounds, **more)
        if arguments.keep:
            keep(name, copied.text())


if __name__ == "__main__":
    main()
