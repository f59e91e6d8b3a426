"""What `ridgeline profile` records of the ranks of a job, with real torchrun and Gloo."""

from __future__ import annotations

import json
import os
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import chakra
import jsonschema
import pytest
from conftest import BINARY, PYTHON, ROOT, ridgeline
from job_file import on_another_machine, read_job, records, write_job
from job_scripts import ALONE, DDP, ENDLESS, PARAMETER_SERVER, TORCH_CRASHES, command, run_job, script_of, transfers
from sshd import SSHD, serving
from test_exports import check_perfetto
from training_scripts import SINGLE, number_of

ALL_REDUCE, BROADCAST, SEND, RECEIVE = 0, 3, 9, 10


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], subprocess.CompletedProcess[str]]:
    """A job of two ranks with DistributedDataParallel."""
    folder = tmp_path_factory.mktemp("job")
    script = script_of(folder, DDP)
    done = run_job(script, 350, "--steps", "8", "--job", str(folder / "a.ridgeline-job"))
    assert done.returncode == 0, done.stderr
    return script, read_job(folder / "a.ridgeline-job"), done


FSDP = """
import sys
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 256))
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(int(sys.argv[1])):
    model(torch.randn(16, 256)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""


@pytest.mark.long
def test_fully_sharded_ranks_wait_for_their_collectives(tmp_path: Path) -> None:
    """Gloo runs FSDP2's reduce-scatters as all-reduces."""
    file = tmp_path / "a.ridgeline-job"
    done = run_job(script_of(tmp_path, FSDP), 100, "--steps", "4", "--job", str(file))
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
    for rank in job_report(file)["ranks"]:
        assert rank["communication"]["exposedMs"] > 0


# ---- the file, read again --------------------------------------------------------------------------------------------


def ranks_waiting(text: str) -> list[str]:
    """The rows of the ranks, from the table of what they wait for."""
    rows = text.partition("Communication in steps")[2].partition("Communication by line")[0].splitlines()
    return [row for row in rows if re.match(r"  \d", row)]


def test_the_file_tells_what_the_run_told(recorded: tuple) -> None:
    script, _, run = recorded
    shown = ridgeline("job", "show", script.parent / "a.ridgeline-job")
    assert shown.returncode == 0, shown.stderr
    assert ranks_waiting(shown.stdout) == ranks_waiting(run.stderr) != []
    assert "Clocks" not in shown.stdout
    other = ridgeline("job", "show", script.parent / "a.ridgeline-job", "--lines-of", "1")
    assert "Communication by line, rank 1" in other.stdout
    missing = ridgeline("job", "show", script.parent / "a.ridgeline-job", "--lines-of", "7")
    assert missing.returncode == 2 and "no file has a record of rank 7" in missing.stderr


def replay_error(shown: str) -> float:
    """How far the replay is from what was recorded, in percent."""
    row = re.search(r"replayed [\d.]+ \S+, recorded [\d.]+ \S+ \(([-+][\d.]+) %\)", shown)
    assert row, shown
    return float(row[1])


def test_the_job_is_replayed(recorded: tuple) -> None:
    """The graph of the ranks takes as long as the steps did, and the critical path makes up all of it."""
    shown = ridgeline("job", "show", recorded[0].parent / "a.ridgeline-job").stdout
    assert abs(replay_error(shown)) <= 2
    path = shown.partition("Critical path over all ranks")[2].splitlines()[1:]
    shares = [float(line.split()[-2]) for line in path if line.endswith("%")]
    assert 80 <= sum(shares) <= 100.5
    assert any("train.py:" in line for line in path)
    assert "not replayed" not in shown


def job_report(file: Path, *changes: str) -> dict[str, Any]:
    shown = ridgeline(
        "job", "show", file, "--format", "json", *(word for change in changes for word in ("--change", change))
    )
    assert shown.returncode == 0, shown.stderr
    report = json.loads(shown.stdout)
    jsonschema.validate(report, json.loads((ROOT / "protocol/job.schema.json").read_text("utf-8")))
    return report


def changed_steps(file: Path, *changes: str) -> list[float]:
    """The speed-up of each change, and of all."""
    predicted = job_report(file, *changes)["predicted"]
    for one in predicted:
        for figure in (one["stepMs"], one["speedUp"]):
            assert figure["low"] <= figure["value"] <= figure["high"]
            assert figure["low"] <= 0.98 * figure["value"] and 1.02 * figure["value"] <= figure["high"]
    return [one["speedUp"]["value"] for one in predicted]


def test_the_job_is_replayed_with_changes(recorded: tuple) -> None:
    file = recorded[0].parent / "a.ridgeline-job"
    same, ranks, network, together = changed_steps(file, "faster-rank:1=1", "faster-rank:0=4", "faster-communication:4")
    assert same == 1
    assert 0.97 <= ranks < 4 and 1 < network < 4  # on a busy machine the other rank decides
    assert together > 0.97 * max(ranks, network)


def test_the_job_is_replayed_with_another_network_and_other_buckets(recorded: tuple) -> None:
    file = recorded[0].parent / "a.ridgeline-job"
    faster, smaller, after, one_bucket, all_of_them = changed_steps(
        file, "bandwidth:4", "compression:4", "no-overlap", "bucket-size:25MiB"
    )
    assert 1 <= smaller <= faster < 4, "compression is of the buckets, bandwidth of all that is sent"
    assert after <= 1.001, "waiting for the last gradient does not help"
    assert one_bucket > 0.2 and all_of_them > 0.2
    shown = ridgeline("job", "show", file, "--change", "no-overlap", "--change", "compression:2")
    assert "hiding it saves nothing" in shown.stdout and "processor time of compression" in shown.stdout


def test_the_report_as_json_has_what_the_text_has(recorded: tuple) -> None:
    report = job_report(recorded[0].parent / "a.ridgeline-job")
    assert [rank["rank"] for rank in report["ranks"]] == [0, 1]
    for rank in report["ranks"]:
        communication = rank["communication"]
        assert 0 < communication["exposedMs"] < communication["stepMs"]
        assert {one["line"]["file"] for one in communication["lines"] if one["line"]} == {"train.py"}
    replay = report["replay"]
    assert abs(replay["error"]) <= 0.02
    assert sum(part["share"] for part in replay["criticalPath"]) == pytest.approx(1, abs=0.01)
    assert report["predicted"] == report["clocks"] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("faster:train.py:9999=2", "no rank spends time at train.py:9999"),
        ("faster:train.py:x=2", "a line is a number from 1"),
        ("faster-rank:7=2", "no rank 7 was recorded"),
        ("faster-communication:0", "expected K"),
        ("bandwidth:x", "expected K"),
        ("bucket-size:0", "expected a size such as 25MiB"),
        ("no-overlap:1", "takes no argument"),
        ("fuse-pointwise:2", "takes no argument"),
        ("partition:0", "expected K, a whole number"),
        ("amp", "amp is no change of a recorded job, which has faster:FILE:LINE=K"),
    ],
)
def test_a_change_that_does_not_apply(recorded: tuple, change: str, message: str) -> None:
    shown = ridgeline("job", "show", recorded[0].parent / "a.ridgeline-job", "--change", change)
    assert shown.returncode == 2 and message in shown.stderr
    assert change in shown.stderr and not shown.stdout


def test_the_ranks_stand_side_by_side_in_perfetto(recorded: tuple, tmp_path: Path) -> None:
    script, job, _ = recorded
    file = tmp_path / "ranks.json"
    done = ridgeline("job", "show", script.parent / "a.ridgeline-job", "--format", "perfetto", "--output", file)
    assert done.returncode == 0, done.stderr
    events = check_perfetto(json.loads(file.read_text(), parse_float=Fraction))
    first = min(one[1] for record in records(job) for one in record["iterations"])
    for record in records(job):
        slices = [one for one in events["X"] if one["pid"] == record["rank"] + 1]
        steps = [(one["ts"], one["dur"]) for one in slices if one["cat"] == "step"]
        assert steps == [(Fraction(a - first, 1000), Fraction(b - a, 1000)) for _, a, b in record["iterations"]]
        collectives = [one for one in slices if one["cat"] == "collective"]
        assert sum(one["dur"] for one in collectives) == sum(
            Fraction(one["ended"] - one["called"], 1000) for one in record["collectives"]
        )
        lines = {one["args"]["line"] for one in collectives if "bucket" in one["name"]}
        assert lines == {f"train.py:{number_of(script, 'loss.backward()')}"}
        waited = sum(one["dur"] for one in slices if one["cat"] == "wait")
        assert 0 < waited <= Fraction(sum(one["waited"] for one in record["collectives"]), 1000)
    assert events["s"], "who waited for whom"


def test_the_page_of_the_job_shows_its_ranks(recorded: tuple, tmp_path: Path) -> None:
    script, job, _ = recorded
    page = tmp_path / "ranks.html"
    done = ridgeline("job", "show", script.parent / "a.ridgeline-job", "--format", "html", "--output", page)
    assert done.returncode == 0, done.stderr
    html = page.read_text("utf-8")
    steps = sum(len(record["iterations"]) for record in records(job))
    assert html.count('<rect class="work"') == steps
    assert '<rect class="network"' in html and '<rect class="hidden"' in html
    assert html.count(f"<code>train.py:{number_of(script, 'loss.backward()')}</code>") >= 2
    assert "Critical path over all ranks" in html and "<script" not in html
    report = job_report(script.parent / "a.ridgeline-job")
    for rank in report["ranks"]:
        own_ms = rank["communication"]["stepMs"] - rank["communication"]["exposedMs"]
        assert 0 < sum(line["ms"] for line in rank["computing"]) <= 1.02 * own_ms


def test_the_execution_traces_have_what_was_recorded(recorded: tuple, tmp_path: Path) -> None:
    script, job, _ = recorded
    folder = tmp_path / "traces"
    command = ("job", "show", script.parent / "a.ridgeline-job", "--format", "chakra")
    done = ridgeline(*command, "--output", folder)
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in folder.iterdir()) == ["groups.json", "rank.0.et", "rank.1.et"]
    traces = [chakra.read_trace(folder / f"rank.{rank}.et") for rank in (0, 1)]
    for trace, record in zip(traces, records(job), strict=True):
        calls = [node for node in trace if node["type"] == chakra.COLLECTIVE]
        collectives = [one for one in record["collectives"] if one["kind"] in (ALL_REDUCE, BROADCAST)]
        assert [node["comm_size"] for node in calls] == [one["bytes"] for one in collectives]
        types = {ALL_REDUCE: 0, BROADCAST: 5}  # of CollectiveCommType
        assert [node["comm_type"] for node in calls] == [types[one["kind"]] for one in collectives]
        longest = [(one["ended"] - one["called"]) / 1e3 + 1 for one in collectives]
        assert all(0 <= node["us"] <= most for node, most in zip(calls, longest, strict=True))
        assert {(node["pg_name"], node["is_cpu_op"]) for node in calls} == {("0", 0)}
        assert f"train.py:{number_of(script, 'loss.backward()')}" in {node.get("line") for node in trace}
    work_us = max(sum(node["us"] for node in trace if node["type"] == chakra.COMPUTE) for trace in traces)
    steps = [one for record in records(job) for one in record["iterations"]]
    recorded_us = (max(end for _, _, end in steps) - min(start for _, start, _ in steps)) / 1e3
    assert work_us < chakra.simulated_us(traces) < 1.05 * recorded_us
    again = ridgeline(*command, "--output", folder)
    assert again.returncode == 2 and "it is a folder" in again.stderr
    assert ridgeline(*command).returncode == 2
    read = ridgeline("job", "show", folder / "rank.0.et", folder / "rank.1.et", "--change", "faster-communication:2")
    assert read.returncode == 0, read.stderr
    assert re.search(r"Replay of steps \d+ to \d+\n  [\d.]+ .?s for a step", read.stdout)
    assert "all-reduce of bucket 0" in read.stdout or "train.py:" in read.stdout
    assert "faster-communication:2" in read.stdout
    as_json = ridgeline("job", "show", folder / "rank.0.et", "--format", "json")
    assert as_json.returncode == 2 and "--format text" in as_json.stderr
    (tmp_path / "rank.0.et").write_bytes((folder / "rank.0.et").read_bytes()[:-3])
    damaged = ridgeline("job", "show", tmp_path / "rank.0.et")
    assert damaged.returncode == 2 and "cut off" in damaged.stderr


def test_some_ranks_are_not_replayed(recorded: tuple, tmp_path: Path) -> None:
    _, job, _ = recorded
    alone = write_job(tmp_path / "alone", {**json.loads(json.dumps(job)), "ranks": [dict(job["ranks"][0])]})
    shown = ridgeline("job", "show", alone)
    assert shown.returncode == 0, shown.stderr
    assert "The job is not replayed: rank 0: its recording" in shown.stdout


def test_files_of_two_machines_are_read_by_one_clock(recorded: tuple, tmp_path: Path) -> None:
    """The ranks of a real job, told apart: the other machine's clock is ahead by 2,345.678 s."""
    script, job, run = recorded
    alone = [{**job, "ranks": [rank]} for rank in job["ranks"]]
    first = write_job(tmp_path / "first", json.loads(json.dumps(alone[0])))
    second = write_job(tmp_path / "second", on_another_machine(alone[1], "other", lambda ns: ns + 2_345_678_000_000))
    shown = ridgeline("job", "show", first, second)
    assert shown.returncode == 0, shown.stderr
    row = re.search(r"other +(-?[\d.]+) s +-([\d.]+) to \+([\d.]+) us", shown.stdout)
    assert row, shown.stdout
    offset, below, above = 1e6 * float(row[1]), float(row[2]), float(row[3])
    assert offset - below - 1 <= -2_345_678_000 <= offset + above + 1, "the truth is inside of the range"
    assert below + above < 2000
    waiting = [row.split() for row in ranks_waiting(shown.stdout)]
    assert len(waiting) == 2 and all("–" not in row for row in waiting), "who waits for whom is known"
    twice = ridgeline("job", "show", first, first)
    assert "rank 0" in twice.stdout and "!" in twice.stdout


# ---- what is recorded ------------------------------------------------------------------------------------------------


def test_ranks_record_the_same_steps(recorded: tuple) -> None:
    first, second = records(recorded[1])
    steps = [one[0] for one in first["iterations"]]
    assert len(steps) == 8
    assert steps == list(range(steps[0], steps[0] + 8))
    assert steps == [one[0] for one in second["iterations"]]
    assert recorded[1]["warnings"] == []


def test_ranks_record_the_same_collectives(recorded: tuple) -> None:
    """Two buckets, the buffers of BatchNorm (float and int64) and the metric, in each of eight steps."""
    first, second = records(recorded[1])
    described = [
        [(c["kind"], c["sequence"], c["bytes"], c["dtype"], c["bucket"], c["peer"]) for c in record["collectives"]]
        for record in (first, second)
    ]
    assert described[0] == described[1]
    assert len(described[0]) == 8 * 5
    sequences = [one[1] for one in described[0]]
    assert sequences == list(range(sequences[0], sequences[0] + 40))
    kinds = [one[0] for one in described[0][:5]]
    assert kinds == [BROADCAST, BROADCAST, ALL_REDUCE, ALL_REDUCE, ALL_REDUCE]
    assert {one[5] for one in described[0] if one[0] == BROADCAST} == {0}, "the root"


def test_buckets_have_their_parameters(recorded: tuple) -> None:
    sizes = {"0.weight": 64 * 256, "0.bias": 256, "1.weight": 256, "1.bias": 256}
    sizes |= {"3.weight": 256 * 256, "3.bias": 256, "4.weight": 256 * 8, "4.bias": 8}
    buckets = [c for c in records(recorded[1])[0]["collectives"][:5] if c["bucket"] >= 0]
    assert [one["bucket"] for one in buckets] == [0, 1]
    assert sorted(name for one in buckets for name in one["parameters"]) == sorted(sizes)
    for one in buckets:
        assert one["bytes"] == 4 * sum(sizes[name] for name in one["parameters"])


def test_collectives_have_the_user_lines(recorded: tuple) -> None:
    script, job, _ = recorded
    lines = {c["line"] for c in records(job)[0]["collectives"] if c["bucket"] < 0 and c["kind"] == ALL_REDUCE}
    assert lines == {number_of(script, "dist.all_reduce(loss.detach())")}
    assert {c["line"] for c in records(job)[0]["collectives"] if c["bucket"] >= 0} == {
        number_of(script, "loss.backward()")
    }
    assert {c["file"] for c in records(job)[0]["collectives"]} == {str(script)}


def test_times_of_collectives_are_possible(recorded: tuple) -> None:
    """The group's thread notes the end after it has released who waits, so that on a busy machine it may be later."""
    late = 50_000_000
    for record in records(recorded[1]):
        for one in record["collectives"]:
            _, start, end = record["iterations"][one["iteration"]]
            assert start <= one["called"] <= one["started"] <= one["ended"] <= end + late
            assert one["called"] <= end
            assert 0 <= one["waited"] <= one["ended"] - one["called"]


def test_each_message_is_seen_at_both_ends(recorded: tuple) -> None:
    sent, received = transfers(recorded[1])
    assert sent.keys() == received.keys()
    assert len(sent) > 8 * 5
    for key, (size, start, _) in sent.items():
        assert received[key][0] == size
        assert start <= received[key][2], "nothing is received before it is sent"


def test_messages_lie_within_their_collectives(recorded: tuple) -> None:
    for record in records(recorded[1]):
        for index, _, _, _, _, start, end in record["transfers"]:
            one = record["collectives"][index]
            assert one["called"] <= start <= end <= one["ended"] + 5_000_000


def test_an_all_reduce_of_two_ranks_moves_the_tensor_once_each_way(recorded: tuple) -> None:
    """Gloo reduces in halves: each rank sends one half, and then the other one as the result."""
    record = records(recorded[1])[0]
    for index, one in enumerate(record["collectives"]):
        if one["bucket"] >= 0:
            assert sum(t[4] for t in record["transfers"] if t[0] == index and t[1]) == one["bytes"]


@pytest.mark.long
def test_send_and_receive_are_matched_across_steps(tmp_path: Path) -> None:
    """The server's step ends between a worker's send and its receive: the ends of a message are in different steps."""
    file = tmp_path / "a.ridgeline-job"
    done = run_job(script_of(tmp_path, PARAMETER_SERVER), 600, "--steps", "6", "--job", str(file), ranks=3)
    assert done.returncode == 0, done.stderr
    job = read_job(file)
    assert job["warnings"] == []
    sent, received = transfers(job)
    both = sent.keys() & received.keys()
    # At an even pace all but those at the begin and the end; on a busy machine the ranks record at different times.
    assert len(both) >= 2 * 6
    for key in both:
        assert sent[key][0] == received[key][0]
        assert received[key][1] <= sent[key][1] <= received[key][2], "Gloo sends once the receive is posted"
    kinds = {one["kind"] for record in records(job) for one in record["collectives"]}
    assert kinds == {SEND, RECEIVE}
    assert abs(replay_error(ridgeline("job", "show", file).stdout)) <= 2


# ---- that the job is its own -----------------------------------------------------------------------------------------


def test_weights_are_those_of_a_run_without_ridgeline(recorded: tuple) -> None:
    script, _, done = recorded
    alone = subprocess.run(command(script, 350), capture_output=True, text=True, env={**os.environ, **SINGLE})
    assert "weights" in alone.stdout
    assert done.stdout == alone.stdout, "bit for bit"


@pytest.mark.long
def test_two_jobs_at_once(tmp_path: Path) -> None:
    jobs = []
    for number in range(2):
        script = script_of(tmp_path, DDP, name=f"train{number}.py")
        options = ["profile", "--python", PYTHON, "--seconds", "0.5", "--steps", "4"]
        options += ["--job", str(tmp_path / f"{number}.ridgeline-job")]
        jobs.append(
            subprocess.Popen(
                [str(BINARY), *options, "--", *command(script, 250)],
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
                env={**os.environ, **SINGLE},
            )
        )
    for number, job in enumerate(jobs):
        _, stderr = job.communicate(timeout=300)
        assert job.returncode == 0 or TORCH_CRASHES in stderr, stderr
        read = read_job(tmp_path / f"{number}.ridgeline-job")
        assert len(read["ranks"]) == 2
        assert {c["file"] for c in records(read)[0]["collectives"]} == {str(tmp_path / f"train{number}.py")}


# ---- what is said of it ----------------------------------------------------------------------------------------------


def test_communication_stands_by_line(recorded: tuple) -> None:
    script, _, done = recorded
    table = done.stderr.split("Communication by line, rank 0\n")[1].splitlines()
    lines = {row.split()[0] for row in table[1:] if row.strip()}
    wanted = {number_of(script, mark) for mark in ("loss.backward()", "model(x)", "dist.all_reduce(")}
    assert {f"train.py:{number}" for number in wanted} <= lines


def test_communication_stands_in_the_report_of_each_rank(tmp_path: Path) -> None:
    script = script_of(tmp_path, DDP)
    file = tmp_path / "report.json"
    done = run_job(script, 300, "--steps", "6", "--format", "json", "--output", str(file))
    assert done.returncode == 0, done.stderr
    for rank, name in enumerate(("report.json", "report.rank1.json")):
        communication = json.loads((tmp_path / name).read_text())["script"]["communication"]
        assert communication["rank"] == rank
        assert communication["steps"] == 6
        assert 0 < communication["exposedMs"] < communication["stepMs"]
        assert communication["waitingMs"] is not None, (communication, done.stderr)  # all ranks recorded the same calls
        assert 0 <= communication["waitingMs"] <= communication["exposedMs"]
        lines = {one["line"]["line"]: one for one in communication["lines"] if one["line"]}
        assert number_of(script, "loss.backward()") in lines
        assert sum(one["exposedMs"] for one in lines.values()) >= 0.99 * communication["exposedMs"]


# ---- which ranks, and what goes wrong --------------------------------------------------------------------------------


@pytest.mark.long
def test_some_ranks_are_recorded(tmp_path: Path) -> None:
    file = tmp_path / "a.ridgeline-job"
    done = run_job(script_of(tmp_path, DDP), 250, "--steps", "4", "--ranks", "1,7", "--job", str(file))
    assert done.returncode == 0, done.stderr
    assert "no process of the command that was recorded had rank 7" in done.stderr
    job = read_job(file)
    assert [record["rank"] for record in records(job)] == [1]
    assert {t[2] for t in records(job)[0]["transfers"]} == {0}, "the other one of two"


@pytest.mark.parametrize("ranks", ["", "x", "1,", "-1", "0;1"])
def test_ranks_that_are_none(tmp_path: Path, ranks: str) -> None:
    done = run_job(script_of(tmp_path, DDP), 1, "--ranks", ranks)
    if ranks == "1,":
        assert "no process" in done.stderr or "[no-training-step]" in done.stderr
    else:
        assert done.returncode == 2
        assert "--ranks" in done.stderr


def test_a_rank_that_is_killed(tmp_path: Path) -> None:
    """Before anything was recorded: the other rank fails as it would alone, and both are named."""
    act = "step == 5 and rank == 1 and os.kill(os.getpid(), 9)"
    done = run_job(script_of(tmp_path, DDP, act=act), 300)
    assert done.returncode != 0
    assert re.search(r"Rank 1 \(process \d+\) ended before its training steps were recorded", done.stderr), done.stderr


@pytest.mark.long
def test_a_rank_that_is_killed_later(tmp_path: Path) -> None:
    """After the recording: what was measured of both is kept."""
    file = tmp_path / "a.ridgeline-job"
    act = "step == 200 and rank == 1 and os.kill(os.getpid(), 9)"
    done = run_job(script_of(tmp_path, DDP, act=act), 400, "--steps", "4", "--job", str(file), budget=60)
    assert done.returncode != 0, "that of torchrun"
    assert [record["rank"] for record in records(read_job(file))] == [0, 1]
    assert "Communication in steps" in done.stderr


@pytest.mark.long
def test_a_rank_out_of_memory(tmp_path: Path) -> None:
    act = "step == 5 and rank == 1 and torch.empty(1 << 50)"
    done = run_job(script_of(tmp_path, DDP, act=act), 300)
    assert done.returncode != 0
    assert "1125899906842624" in done.stderr or "DefaultCPUAllocator" in done.stderr, "torch's own message"
    assert "Rank 0" in done.stderr or "Rank 1" in done.stderr or "ended after" in done.stderr


def test_a_rank_that_never_steps(tmp_path: Path) -> None:
    """It is not waited for after it has ended; the other rank is recorded."""
    act = "if rank == 1: time.sleep(3); sys.exit(0)"
    done = run_job(script_of(tmp_path, ALONE, act=act), 10_000_000, "--steps", "4", "--stop")
    assert done.returncode == 0, done.stderr
    assert re.search(r"Rank 1 \(process \d+\) ended before its training steps were recorded", done.stderr)
    assert "train.py · batch 32" in done.stderr


def test_ranks_that_are_stopped_end_with_the_same_step(tmp_path: Path) -> None:
    """One that ended alone would leave the others in the middle of a collective."""
    script = tmp_path / "train.py"
    script.write_text(ENDLESS)
    done = run_job(script, 0, "--stop")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "batch 16" in done.stderr


@pytest.mark.long
def test_a_rank_that_hangs_is_not_waited_for_forever(tmp_path: Path) -> None:
    act = "if rank == 1: time.sleep(22); sys.exit(0)"
    done = run_job(script_of(tmp_path, ALONE, act=act), 10_000_000, "--steps", "4", "--stop")
    assert done.returncode == 0, done.stderr
    assert "1 of the ranks has not taken enough training steps" in done.stderr
    assert "train.py · batch 32" in done.stderr


def test_a_job_without_process_groups_has_no_file(tmp_path: Path) -> None:
    file = tmp_path / "a.ridgeline-job"
    done = run_job(script_of(tmp_path, ALONE), 400, "--steps", "4", "--job", str(file))
    assert "no rank of the command used torch.distributed" in done.stderr
    assert not file.exists()


# ---- files of several machines ---------------------------------------------------------------------------------------


@pytest.mark.skipif(SSHD is None, reason="openssh-server is not installed")
def test_files_of_machines_are_collected(recorded: tuple, tmp_path: Path) -> None:
    """As `ridgeline job show A B` reads them; what is on the other machine comes by ssh."""
    _, job, _ = recorded
    here, there = (json.loads(json.dumps(job)) for _ in range(2))
    here["ranks"], there["ranks"] = here["ranks"][:1], there["ranks"][1:]
    write_job(tmp_path / "here", here)
    write_job(tmp_path / "it's there", on_another_machine(there, "other", lambda ns: ns + 3_000_000))
    whole = tmp_path / "whole"
    with serving(Path(os.environ["RIDGELINE_CACHE"]) / "agents") as host:

        def collected(*places: str | Path) -> subprocess.CompletedProcess[str]:
            return ridgeline("job", "collect", *places, *host.options, "--output", whole)

        absent = collected(f"{host.name}:{tmp_path}/absent")
        assert absent.returncode == 3 and "No such file" in absent.stderr and not whole.exists()
        twice = collected(tmp_path / "here", f"{host.name}:{tmp_path}/here")
        assert twice.returncode == 3 and "rank 0 is in" in twice.stderr
        done = collected(f"{host.name}:{tmp_path}/it's there", tmp_path / "here")
    assert done.returncode == 0, done.stderr
    assert "ranks 0, 1 of 2 machines; all recorded steps" in done.stderr
    shown = ridgeline("job", "show", whole)
    assert shown.stdout == ridgeline("job", "show", tmp_path / "here", tmp_path / "it's there").stdout
    assert "Clocks" in shown.stdout


@pytest.mark.parametrize("place", ["-oProxyCommand=x:file", ":file", "host:"])
def test_places_that_are_none(place: str, tmp_path: Path) -> None:
    done = ridgeline("job", "collect", "--output", tmp_path / "whole", "--", place)
    assert done.returncode == 2 and "neither HOST:FILE nor a file" in done.stderr
