"""Every example: the report is valid, its figures add up, and the peak is the one that another observer counts."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import NO_GRAPH_CACHES, PYTHON, ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))

import flops  # noqa: E402

EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/entry.py"))
PHASES = ("forward", "backward", "recomputation", "optimizer", "data", "other")
Reports = Callable[[str], dict[str, Any]]

# A loader's workers hand their batches over in shared memory, which is not the allocator's, though torch.profiler
# counts it: the batch in use, and those that arrived early. An image (3, 32, 32) of floats, and its label.
SHARED_SAMPLE_BYTES = {"dataloader": 3 * 32 * 32 * 4 + 8}

# torch.profiler takes 20 GB for the events of three batch sizes of its recurrent layers.
OBSERVED_AT_ONE_SIZE = {"deepspeech"}


# A plain one, one with a loader's processes, and one that steps an environment.
QUICK = {"mlp", "dataloader", "a3c"}


def marked(name: str) -> Any:
    return name if name in QUICK else pytest.param(name, marks=pytest.mark.long)


@pytest.fixture(params=[marked(each) for each in EXAMPLES])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def report(name: str, example_report: Reports) -> dict[str, Any]:
    return example_report(name)


def of(name: str) -> pytest.MarkDecorator:
    """A test of this example alone."""
    return pytest.mark.parametrize("name", [marked(name)])


def test_report_is_valid(report: dict[str, Any], schema: dict[str, Any]) -> None:
    jsonschema.validate(report, schema)


def test_lines_and_other_items_add_up_to_the_iteration(report: dict[str, Any]) -> None:
    total = sum(line["timeMs"]["self"] for line in report["lines"]) + sum(item["timeMs"] for item in report["other"])
    assert total == pytest.approx(report["iteration"]["timeMs"], rel=0.001)


def test_phases_of_each_line_add_up_to_its_self_time(report: dict[str, Any]) -> None:
    for line in report["lines"]:
        time = line["timeMs"]
        phases = sum(time[phase] for phase in PHASES)
        assert phases == pytest.approx(time["self"], rel=1e-9, abs=1e-9)
        assert time["total"] >= time["self"] * (1 - 1e-9)


def test_the_unchanged_graph_replays_the_iteration(report: dict[str, Any]) -> None:
    schedule = report["schedule"]
    assert schedule["replayedMs"] == pytest.approx(report["iteration"]["timeMs"], rel=0.01)
    parts = sum(schedule[part] for part in ("hostOnlyMs", "deviceOnlyMs", "bothMs", "neitherMs"))
    assert parts == pytest.approx(schedule["replayedMs"], rel=1e-6)


@of("mlp")
def test_the_work_of_the_step_is_what_torch_counts(report: dict[str, Any]) -> None:
    assert "work" in report, report["warnings"]
    work = report["work"]
    assert work["notListed"] == ""
    assert work["total"]["matrixFlops"] == sum(flops.count("mlp")["torch"].values())
    # Lines and phases are sums over the operations that were found in the recording.
    of_lines = sum(line["matrixFlops"] for line in work["lines"])
    assert of_lines == work["total"]["matrixFlops"] == sum(phase["matrixFlops"] for phase in work["byPhase"].values())
    assert 0.5 * report["iteration"]["timeMs"] < work["total"]["timeMs"] <= 1.01 * report["iteration"]["timeMs"]
    assert [one["number"] for one in report["observations"]] == list(range(1, 13))


def test_a_line_without_time_saves_its_self_time(report: dict[str, Any]) -> None:
    """On the CPU alone: what the graph says of a line is what the profile says of it."""
    own = {(line["file"], line["line"]): line["timeMs"]["self"] for line in report["lines"]}
    for line in report["schedule"]["lines"]:
        assert line["savedWithoutMs"] == pytest.approx(own[line["file"], line["line"]], rel=0.001, abs=0.001)


def test_user_lines_own_at_least_95_percent(report: dict[str, Any]) -> None:
    assert report["closure"]["userLineShare"] >= 0.95


def test_categories_and_lines_add_up_to_the_peak_exactly(report: dict[str, Any]) -> None:
    peak = report["memory"]["peakBytes"]
    assert sum(report["memory"]["byCategory"].values()) == peak
    on_lines = sum(line["memoryBytes"]["atPeak"] for line in report["lines"])
    assert on_lines + sum(item["peakBytes"] for item in report["other"]) == peak


def test_breakdown_nodes_are_the_sum_of_their_children(report: dict[str, Any]) -> None:

    def check(node: dict[str, Any]) -> None:
        if node["children"]:
            assert sum(child["timeMs"] for child in node["children"]) == pytest.approx(node["timeMs"], rel=1e-6)
            assert sum(child["peakBytes"] for child in node["children"]) == node["peakBytes"]
        for child in node["children"]:
            check(child)

    check(report["breakdown"])
    assert report["breakdown"]["timeMs"] == pytest.approx(report["iteration"]["timeMs"], rel=0.001)
    assert report["breakdown"]["peakBytes"] == report["memory"]["peakBytes"]


def test_peak_is_what_another_observer_counts(name: str, report: dict[str, Any]) -> None:
    samples = report["models"]["memory"]["samples"]
    peaks = {sample["batchSize"]: sample["peakBytes"] for sample in samples}
    if name in OBSERVED_AT_ONE_SIZE:
        peaks = dict(sorted(peaks.items())[:1])
    entry = ROOT / "examples" / name / "entry.py"
    observer = Path(__file__).with_name("observe_peak.py")
    done = subprocess.run(
        [PYTHON, observer, entry, *map(str, peaks)],
        env={**os.environ, **NO_GRAPH_CACHES},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counted = dict(zip(peaks, map(int, done.stdout.splitlines()[-1].split()), strict=True))
    if name in SHARED_SAMPLE_BYTES:
        for size, peak in peaks.items():
            batches = (counted[size] - peak) / (size * SHARED_SAMPLE_BYTES[name])
            assert batches in range(1, 5), f"batch size {size}"
    else:
        assert counted == peaks


def test_three_batch_sizes_are_sampled_the_users_among_them(report: dict[str, Any]) -> None:
    sizes = [sample["batchSize"] for sample in report["models"]["time"]["samples"]]
    assert len(set(sizes)) >= 3
    assert report["entry"]["batchSize"] in sizes


@of("resnet50")
def test_resnet_separates_its_layers_and_places_them(report: dict[str, Any]) -> None:
    (model,) = [child for child in report["breakdown"]["children"] if child["type"] == "ResNet"]
    layers = {child["name"]: child for child in model["children"] if child["name"].startswith("layer")}
    assert sorted(layers) == ["layer1", "layer2", "layer3", "layer4"]
    blocks = [child for child in layers["layer3"]["children"] if child["type"] == "Bottleneck"]
    assert sorted(block["name"] for block in blocks) == ["0", "1", "2", "3", "4", "5"]
    source = (ROOT / "examples" / "resnet50" / "resnet.py").read_text().splitlines()
    assert source[blocks[0]["definition"]["line"] - 1].startswith("class Bottleneck")
    assert "self.layer3" in source[layers["layer3"]["location"]["line"] - 1]


@of("resnet50")
def test_resnet_counts_its_calls(report: dict[str, Any]) -> None:
    source = (ROOT / "examples" / "resnet50" / "resnet.py").read_text().splitlines()
    calls = {
        source[row["line"] - 1].strip(): row["calls"] for row in report["lines"] if row["file"].endswith("resnet.py")
    }
    assert calls["out = self.conv2(out)"] == 16
    assert calls["x = self.conv1(images)"] == 1


def line(report: dict[str, Any], name: str, file: str, text: str) -> dict[str, Any]:
    """The row of the one line of examples/NAME/FILE that reads `text`."""
    source = [row.strip() for row in (ROOT / "examples" / name / file).read_text().splitlines()]
    assert source.count(text) == 1, f"{text!r} is there {source.count(text)} times"
    wanted = (f"examples/{name}/{file}", source.index(text) + 1)
    (row,) = [row for row in report["lines"] if (row["file"], row["line"]) == wanted]
    return row


def nodes_below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for child in node["children"]:
        yield child
        yield from nodes_below(child)


@pytest.mark.parametrize(
    ("name", "models"),
    [
        pytest.param("dcgan", {"Generator[0]": 1, "Discriminator[1]": 3}, marks=pytest.mark.long),
        # The critic sees real, fake and mixed images in each of five updates, and the generator's once.
        pytest.param("wgan", {"Generator[generator]": 6, "Critic[critic]": 16}, marks=pytest.mark.long),
    ],
)
def test_both_models_of_a_gan_are_in_the_breakdown(models: dict[str, int], report: dict[str, Any]) -> None:
    nodes = {node["name"]: node for node in report["breakdown"]["children"]}
    for model, calls in models.items():
        assert nodes[model]["type"] == model.split("[")[0]
        assert nodes[model]["calls"] == calls
        assert {"forward", "backward"} <= {phase for phase, ms in nodes[model]["byPhaseMs"].items() if ms > 0}
        assert all(child["name"] for child in nodes[model]["children"] if child["type"])


@of("lstm_accumulate")
def test_every_backward_of_an_accumulated_step_is_counted(report: dict[str, Any]) -> None:
    row = functools.partial(line, report, "lstm_accumulate", "entry.py")
    backward = row("(share * loss).backward()")
    assert backward["calls"] == 4
    forward = [
        row("embedded = self.dropout(self.embedding(tokens))"),
        row("hidden, _ = self.lstm(embedded)"),
        row("return self.classifier(self.dropout(hidden))"),
        row("loss = loss_function(logits.flatten(0, 1), micro_batch[:, 1:].flatten())"),
    ]
    assert all(line["calls"] == 4 and line["timeMs"]["backward"] > 0 for line in forward)
    # What ran under the four calls is the backward phase, and lies on the lines that made its nodes.
    all_of_it = report["iteration"]["byPhaseMs"]["backward"]
    assert all_of_it <= backward["timeMs"]["total"] * (1 + 1e-9)
    assert sum(line["timeMs"]["backward"] for line in forward) >= 0.95 * all_of_it


@of("checkpointed")
def test_recomputed_blocks_are_on_their_forward_lines(report: dict[str, Any]) -> None:
    (model,) = [node for node in report["breakdown"]["children"] if node["type"] == "VisionTransformer"]
    blocks = {node["name"]: node["calls"] for node in model["children"] if node["type"] == "Block"}
    # Every second block runs again in backward.
    assert blocks == {f"blocks.{i}": 2 if i % 2 else 1 for i in range(12)}
    row = functools.partial(line, report, "checkpointed")
    for text in (
        "qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))",
        "mixed = functional.scaled_dot_product_attention(query, key, value)",
        "x = x + self.attention(self.norm1(x))",
        "return x + self.mlp(self.norm2(x))",
    ):
        assert row("vit.py", text)["calls"] == 12 + 6
        assert row("vit.py", text)["timeMs"]["recomputation"] > 0
    # The line that starts backward has it all in its total, and next to nothing for itself.
    backward = row("entry.py", "loss.backward()")["timeMs"]
    assert backward["self"] < 0.05 * backward["total"]


@of("dataloader")
def test_waiting_for_data_is_on_the_line_that_waits(report: dict[str, Any]) -> None:
    wait = line(report, "dataloader", "entry.py", "images, labels = next(batches)")
    assert wait["calls"] == 1
    assert wait["timeMs"]["data"] > 0
    assert wait["timeMs"]["data"] == pytest.approx(report["iteration"]["byPhaseMs"]["data"], rel=0.01)
    assert wait["timeMs"]["data"] >= 0.95 * wait["timeMs"]["self"]


@of("compiled")
def test_the_call_of_a_compiled_model_has_its_cost_and_what_is_inside(report: dict[str, Any]) -> None:
    call = line(report, "compiled", "entry.py", "logits = compiled(images)")
    (compiled,) = [node for node in report["breakdown"]["children"] if node["type"] == "OptimizedModule"]
    assert compiled["location"] == {"file": call["file"], "line": call["line"]}
    assert call["calls"] == compiled["calls"] == 1
    assert call["timeMs"]["total"] == pytest.approx(compiled["timeMs"], rel=0.02)
    assert {"mm", "convolution_backward"} <= {node["name"] for node in nodes_below(compiled)}


@of("compiled")
def test_a_compiled_forward_shows_its_operations(report: dict[str, Any]) -> None:
    (compiled,) = [node for node in report["breakdown"]["children"] if node["type"] == "OptimizedModule"]
    assert any("convolution" in node["name"] and node["byPhaseMs"]["forward"] > 0 for node in nodes_below(compiled))


@of("custom_function")
def test_a_functions_own_backward_is_on_its_lines(report: dict[str, Any]) -> None:
    row = functools.partial(line, report, "custom_function", "efficientnet.py")
    forward = row("return x * torch.sigmoid(x)")
    assert forward["calls"] == 49
    assert forward["timeMs"]["forward"] > 0
    for text in ("sigmoid = torch.sigmoid(x)", "return gradient * sigmoid * (1 + x * (1 - sigmoid))"):
        backward = row(text)
        assert backward["calls"] == 49
        assert backward["timeMs"]["backward"] == pytest.approx(backward["timeMs"]["self"], rel=0.01)
