"""What an editor is shown of a profile: hovers, hints, lenses, actions, the breakdown, predictions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import Daemon, Wire


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Editor, dict[str, Any], dict[str, Any]]]:
    """An editor with a fresh profile that no test changes: (editor, the document, the summary)."""
    folder = tmp_path_factory.mktemp("profiled")
    entry = copy_of_mlp(folder)
    daemon = Daemon("--stdio", log=folder / "log", env=cache(folder))
    wire = Wire(daemon.stdout.fileno(), daemon.stdin.fileno())
    editor = Editor(wire, entry.parent, dict(SETTINGS))
    editor.begin()
    document = editor.open(entry)
    summary = editor.ask("ridgeline/profile", document)
    yield editor, document, summary
    editor.ask("shutdown")
    wire.notify("exit")
    assert daemon.wait() == 0
    wire.assert_conforms()


Profiled = tuple[Editor, dict[str, Any], dict[str, Any]]


def test_summary_closes(profiled: Profiled) -> None:
    editor, document, summary = profiled
    assert summary["batchSize"] == 64
    assert sum(summary["byCategory"].values()) == summary["peakBytes"]
    assert sum(summary["byPhaseMs"].values()) == pytest.approx(summary["timeMs"])
    assert [m["batchSize"] for m in summary["measured"]] == [16, 32, 64]
    again = editor.ask("ridgeline/summary", document)
    assert again == summary


def test_progress_ran_from_begin_to_end(profiled: Profiled) -> None:
    kinds = [value["kind"] for value in profiled[0].progress]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert kinds.count("begin") == kinds.count("end") == 1
    figures = [value.get("percentage", 0) for value in profiled[0].progress if value["kind"] != "end"]
    assert figures == sorted(figures) and max(figures) <= 95


def test_hover_of_a_line(profiled: Profiled) -> None:
    editor, document, _ = profiled
    line = editor.line_of(document["textDocument"]["uri"], "self.fc1(")
    found = editor.ask("textDocument/hover", document | {"position": {"line": line, "character": 25}})
    words = found["contents"]["value"]
    assert found["contents"]["kind"] == "markdown"
    assert "in one iteration, batch 64" in words
    for part in ("| self ", "forward", "backward"):
        assert part in words


def test_the_hover_of_each_line_that_calls_a_module_names_it(profiled: Profiled) -> None:
    """Three lines call self.relu; each shows what its own call takes."""
    editor, document, summary = profiled
    uri = document["textDocument"]["uri"]
    profile = {"profileId": summary["profileId"]}
    children = editor.ask("ridgeline/breakdown", profile)["children"]
    model = next(child["node"] for child in children if child["type"] == "MLP")
    costs = editor.ask("ridgeline/lineCosts", document | profile | {"node": model})
    lines = {line["line"]: line for line in costs["lines"]}
    for layer in ("fc1", "fc2", "fc3"):
        line = editor.line_of(uri, f"self.{layer}(hidden)")
        found = editor.ask("textDocument/hover", document | {"position": {"line": line, "character": 25}})
        rows = re.findall(r"\| `(.+?)` +\| +([\d.]+) ([µm]s) ", found["contents"]["value"])
        times = {name: float(time) * (1 if unit == "ms" else 1e-3) for name, time, unit in rows}
        assert {f"{layer} (Linear)", "relu (ReLU)"} <= times.keys(), found["contents"]["value"]
        assert sum(times.values()) == pytest.approx(lines[line]["timeMs"], rel=0.02)


def test_hover_of_a_call_leads_on(profiled: Profiled) -> None:
    editor, document, _ = profiled
    uri = document["textDocument"]["uri"]
    line = editor.line_of(uri, "logits = model(images)")
    found = editor.ask("textDocument/hover", document | {"position": {"line": line, "character": 20}})
    text = found["contents"]["value"]
    assert "costliest lines below" in text and "for each further sample" not in text
    places = re.findall(r"\[entry\.py:(\d+)\]\((.*)#L(\d+)\)", text)
    assert 0 < len(places) <= 3 and all(there == uri and shown == linked for shown, there, linked in places)
    first = editor.texts[uri].splitlines()[int(places[0][0]) - 1]
    assert "self.fc" in first or "self.relu" in first
    # One module is called: those inside of it, with the lines that call them.
    assert "| costliest modules below" in text
    # Calls that cost alike, as on a busy machine, are one row: "2 × Linear".
    modules = re.findall(r"\[`(?:(\w+) \((\w+)\)|\d+ × (\w+))`[^]]*\]\((.*)#L(\d+)\)", text)
    assert 0 < len(modules) <= 3
    for name, kind, kind_of_several, there, linked in modules:
        assert (kind or kind_of_several) in ("Linear", "ReLU")
        called = f"self.{name}(" if name else "self."
        assert there == uri and called in editor.texts[uri].splitlines()[int(linked) - 1]


@pytest.mark.parametrize(
    ("words", "inside", "expected"),
    [
        ("def input_provider", "input_provider", "| throughput "),
        ("class MLP", "MLP", "**`MLP`**"),
        ("def forward", "forward", "forward`**"),
    ],
)
def test_hover_of_a_symbol(profiled: Profiled, words: str, inside: str, expected: str) -> None:
    editor, document, _ = profiled
    uri = document["textDocument"]["uri"]
    line = editor.line_of(uri, words)
    column = editor.texts[uri].splitlines()[line].index(inside) + 1
    found = editor.ask("textDocument/hover", document | {"position": {"line": line, "character": column}})
    assert expected in found["contents"]["value"]


def test_no_hover_where_nothing_costs(profiled: Profiled) -> None:
    editor, document, _ = profiled
    assert editor.ask("textDocument/hover", document | {"position": {"line": 0, "character": 0}}) is None


def test_inlay_hints_are_of_costly_lines(profiled: Profiled) -> None:
    editor, document, _ = profiled
    uri = document["textDocument"]["uri"]
    count = len(editor.texts[uri].splitlines())
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": count, "character": 0}}
    hints = editor.ask("textDocument/inlayHint", document | {"range": whole})
    lines = editor.texts[uri].splitlines()
    texts = [lines[hint["position"]["line"]] for hint in hints]
    assert any("self.fc1(" in text for text in texts)
    assert any("backward" in text or "optimizer.step" in text for text in texts)
    assert all(hint["position"]["character"] == len(lines[hint["position"]["line"]].encode()) for hint in hints)
    assert any(" % " in hint["label"] for hint in hints)
    none = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    assert editor.ask("textDocument/inlayHint", document | {"range": none}) == []


def test_code_lenses_stand_above_the_input(profiled: Profiled) -> None:
    editor, document, summary = profiled
    lenses = editor.ask("textDocument/codeLens", document)
    line = editor.line_of(document["textDocument"]["uri"], "def input_provider")
    assert {lens["range"]["start"]["line"] for lens in lenses} == {line}
    titles = [lens["command"]["title"] for lens in lenses]
    assert titles[0] == "▷ Profile"
    assert "samples/s" in titles[1]
    assert " of " in titles[2]
    assert summary["samplesPerSecond"] > 0


def test_code_actions_tell_what_a_batch_size_brings(profiled: Profiled) -> None:
    editor, document, _ = profiled
    line = editor.line_of(document["textDocument"]["uri"], "def input_provider")
    place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    actions = editor.ask("textDocument/codeAction", document | {"range": place, "context": {"diagnostics": []}})
    titles = [action["title"] for action in actions]
    # On a machine that changes its speed, how the time grows may not be known; the memory is.
    told = r"Set batch size to 128: ([≈≤≥]?\s?\d+\.\d\d× throughput, )?(≈\s)?[\d.]+( [KMGT]iB)? of [\d.]+ GiB"
    assert any(re.match(told, title) for title in titles), titles
    assert titles[0] == "Profile this training step"
    edit = actions[1]["edit"]["documentChanges"][0]
    assert edit["textDocument"]["version"] == 1
    assert [e["newText"].isdigit() for e in edit["edits"]] == [True]
    elsewhere = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    assert editor.ask("textDocument/codeAction", document | {"range": elsewhere, "context": {"diagnostics": []}}) == []


def test_breakdown_adds_up_and_can_be_walked(profiled: Profiled) -> None:
    editor, document, summary = profiled
    profile = {"profileId": summary["profileId"]}
    waiting, seen = [""], 0
    while waiting:
        node = editor.ask("ridgeline/breakdown", profile | {"node": waiting.pop()})
        seen += 1
        if node["children"]:
            assert sum(child["timeMs"] for child in node["children"]) == pytest.approx(node["timeMs"], rel=1e-6)
            assert sum(child["peakBytes"] for child in node["children"]) == node["peakBytes"]
        for child in node["children"]:
            back = editor.ask("ridgeline/breakdown", profile | {"node": child["node"]})
            assert back["parent"] == node["node"]
            assert back["childCount"] == len(back["children"])
        waiting += [child["node"] for child in node["children"]]
    assert seen > 5


def test_the_breakdown_leads_to_what_costs_most_and_to_its_code(profiled: Profiled) -> None:
    editor, document, summary = profiled
    profile = {"profileId": summary["profileId"]}
    root = editor.ask("ridgeline/breakdown", profile)
    for resource, cost in (("time", "timeMs"), ("memory", "peakBytes")):
        at = root
        for step in root["costliest"][resource]:
            assert editor.ask("ridgeline/breakdown", profile | {"node": step["node"]})["name"] == step["name"]
            most = max(at["children"], key=lambda child: child[cost])
            assert most[cost] == next(child[cost] for child in at["children"] if child["node"] == step["node"])
            at = editor.ask("ridgeline/breakdown", profile | {"node": step["node"]})
        assert at["children"] == []
    model = next(child for child in root["children"] if child["type"] == "MLP")
    uri = document["textDocument"]["uri"]
    assert model["forward"] == {"uri": uri, "line": editor.line_of(uri, "def forward(self")}
    assert root["forward"] is None
    assert all(child["forward"] is None for child in at["children"])


def test_the_costliest_lines_and_operations_add_up(profiled: Profiled) -> None:
    editor, document, summary = profiled
    uri = document["textDocument"]["uri"]
    lists = editor.ask("ridgeline/costliest", {"profileId": summary["profileId"]})
    for rows in (lists["lines"], lists["operations"]):
        assert sum(row["timeMs"] for row in rows) == pytest.approx(summary["timeMs"], rel=1e-6)
        assert sum(row["peakBytes"] for row in rows) == summary["peakBytes"]
        assert [row["timeMs"] for row in rows] == sorted((row["timeMs"] for row in rows), reverse=True)
    call = next(row for row in lists["lines"] if "self.fc1(" in row["name"])
    assert call["location"] == {"uri": uri, "line": editor.line_of(uri, "self.fc1(")}
    assert call["name"] == call["name"].strip()
    assert next(row for row in lists["operations"] if row["name"] == "linear")["calls"] == 4
    types = {row["name"]: row for row in lists["moduleTypes"]}
    assert types["Linear"]["calls"] == 4
    assert types["MLP"]["location"] == {"uri": uri, "line": editor.line_of(uri, "class MLP(")}
    root = editor.ask("ridgeline/breakdown", {"profileId": summary["profileId"]})
    model = next(child for child in root["children"] if child["type"] == "MLP")
    assert types["MLP"]["timeMs"] == pytest.approx(model["timeMs"])
    assert types["MLP"]["node"] == model["node"]


def test_line_costs_of_a_node_are_its_childrens(profiled: Profiled) -> None:
    editor, document, summary = profiled
    profile = {"profileId": summary["profileId"]}
    root = editor.ask("ridgeline/breakdown", profile)
    model = next(child for child in root["children"] if child["type"] == "MLP")
    costs = editor.ask("ridgeline/lineCosts", document | profile | {"node": model["node"]})
    assert costs["timeMs"] == pytest.approx(model["timeMs"])
    assert sum(line["timeMs"] for line in costs["lines"]) <= model["timeMs"] * (1 + 1e-6)
    whole = editor.ask("ridgeline/lineCosts", document | profile)
    assert whole["timeMs"] == pytest.approx(summary["timeMs"])
    assert sum(line["timeMs"] for line in whole["lines"]) <= summary["timeMs"] * (1 + 1e-6)
    assert sum(line["timeMs"] for line in whole["lines"]) >= 0.9 * summary["timeMs"]


def test_predictions_can_be_asked_both_ways(profiled: Profiled) -> None:
    editor, document, summary = profiled
    profile = {"profileId": summary["profileId"]}
    forward = editor.ask("ridgeline/predict", profile | {"batchSize": 48})["batch"]
    assert forward["batchSize"] == 48
    back = editor.ask("ridgeline/predict", profile | {"peakBytes": forward["peakBytes"]["value"]})["batch"]
    assert back["batchSize"] == 48
    assert editor.ask("ridgeline/predict", profile | {"peakBytes": 1})["obstacle"] is not None


def test_a_prediction_brings_its_edit(profiled: Profiled) -> None:
    editor, document, summary = profiled
    profile = {"profileId": summary["profileId"]}
    uri = document["textDocument"]["uri"]
    answer = editor.ask("ridgeline/predict", profile | {"batchSize": 48})
    (change,) = answer["edit"]["documentChanges"]
    assert change["textDocument"]["uri"] == uri
    (edit,) = change["edits"]
    line = editor.texts[uri].splitlines()[edit["range"]["start"]["line"]]
    start, end = edit["range"]["start"]["character"], edit["range"]["end"]["character"]
    assert (line[start:end], edit["newText"], answer["noEditReason"]) == ("64", "48", "")
    same = editor.ask("ridgeline/predict", profile | {"batchSize": 64})
    assert (same["edit"], same["noEditReason"]) == (None, "")
    none = editor.ask("ridgeline/predict", profile | {"peakBytes": 1})
    assert (none["batch"], none["edit"], none["noEditReason"]) == (None, None, "")


def test_a_bar_can_be_dragged_without_asking(profiled: Profiled) -> None:
    editor, _, summary = profiled
    profile = {"profileId": summary["profileId"]}
    batches = editor.ask("ridgeline/predictions", profile)["batches"]
    sizes = [batch["batchSize"] for batch in batches]
    assert sizes[:128] == list(range(1, 129))
    assert all(a < b <= a * 65 / 64 for a, b in itertools.pairwise(sizes[127:]))
    # The largest that fits is too far from 16 to 64 to be given.
    assert summary["answers"]["largestThatFits"] is None
    assert 60_000 < sizes[-1] <= 65_536
    assert len(sizes) < 1000
    for batch in batches[::50]:
        assert batch == editor.ask("ridgeline/predict", profile | {"batchSize": batch["batchSize"]})["batch"]


def test_the_summary_says_what_is_in_the_code(profiled: Profiled) -> None:
    editor, document, summary = profiled
    assert summary["batchSizeInCode"] == summary["batchSize"] == 64
    uri = document["textDocument"]["uri"]
    editor.type_over(uri, "batch_size: int = 64", "batch_size: int = 7_0")
    assert editor.ask("ridgeline/summary", document)["batchSizeInCode"] == 70
    editor.type_over(uri, "batch_size: int = 7_0", "batch_size: int = 2 * 35")
    assert editor.ask("ridgeline/summary", document)["batchSizeInCode"] is None
    editor.type_over(uri, "batch_size: int = 2 * 35", "batch_size: int = 64")


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("ridgeline/predict", {"profileId": "0"}, -32801),
        ("ridgeline/predictions", {"profileId": "0"}, -32801),
        ("ridgeline/breakdown", {"profileId": "gone"}, -32801),
        ("ridgeline/predict", {}, -32602),
        ("ridgeline/predict", {"batchSize": 0.5}, -32602),
        ("ridgeline/predict", {"batchSize": 1, "peakBytes": 1}, -32602),
        ("ridgeline/breakdown", {"node": "0.9999"}, -32602),
        ("ridgeline/breakdown", {"node": "x"}, -32602),
        ("workspace/executeCommand", {"command": "ridgeline.profile"}, -32602),
        ("workspace/executeCommand", {"command": "ridgeline.nothing", "arguments": ["file:///x"]}, -32602),
        ("ridgeline/profile", {"textDocument": {"uri": "file:///nowhere/entry.py"}}, -32803),
        ("ridgeline/profile", {"textDocument": {"uri": "file:///x.py"}, "batchSizes": [0]}, -32602),
        ("ridgeline/profile", {"textDocument": {"uri": "file:///x.py"}, "timeBudget": "soon"}, -32602),
        ("ridgeline/profile", {"textDocument": {"uri": "file:///x.py"}, "workDoneToken": {}}, -32602),
        ("textDocument/hover", {"textDocument": {"uri": "file:///x.py"}, "partialResultToken": 0.5}, -32602),
        ("ridgeline/profile", {"textDocument": {"uri": "untitled:1"}}, -32803),
        ("ridgeline/setBatchSize", {"textDocument": {"uri": "file:///nowhere.py"}, "batchSize": 3}, -32803),
    ],
)
def test_bad_questions_are_refused(profiled: Profiled, method: str, params: dict[str, Any], code: int) -> None:
    editor, _, summary = profiled
    if code == -32602 and method.startswith("ridgeline/") and "textDocument" not in params:
        params = {"profileId": summary["profileId"]} | params
    checker, editor.wire.checker = editor.wire.checker, None  # the schema refuses them, too
    try:
        answer = editor.call(method, params)
    finally:
        editor.wire.checker = checker
    assert answer["error"]["code"] == code, answer


def test_status_tells_where_a_profile_would_run(profiled: Profiled) -> None:
    editor, document, _ = profiled
    status = editor.ask("ridgeline/status", document)
    assert status["target"]["trusted"] is True and status["target"]["isScript"] is False
    assert status["target"]["torch"].startswith("2.")
    assert status["workerWarm"] is True
    assert [entry["state"] for entry in status["entries"]] == ["ready"]


def test_devices_can_be_compared(profiled: Profiled) -> None:
    editor, document, _ = profiled
    uri = document["textDocument"]["uri"]

    def compare(*devices: str, **options: object) -> Any:
        asked = {"command": "ridgeline.compareDevices", "arguments": [uri, [*devices], options]}
        return editor.call("workspace/executeCommand", asked)

    def table_of(*devices: str, **options: object) -> str:
        return Path(compare(*devices, **options)["result"]["uri"].removeprefix("file://")).read_text()

    table = table_of("h100=4", "p4=0.01")
    assert "predicted for devices that it did not run on" in table
    assert 0 < table.index("  P4 ") < table.index("  H100 ")  # the cheaper one first
    assert "  A100 " in table_of() and "  MI300X " in table_of()
    assert "No device is called abacus" in compare("abacus")["error"]["message"]
    assert "price of t4=cheap" in compare("t4=cheap")["error"]["message"]
    assert "COST OF A MILLION" in table and "EPOCH" not in table and "EPOCH" in table_of("t4=0.35", datasetSize=50_000)
    assert "datasetSize: must be more than 0" in compare("t4", datasetSize=0)["error"]["message"]


def test_report_can_be_opened(profiled: Profiled) -> None:
    editor, document, profile = profiled
    uri = document["textDocument"]["uri"]
    result = editor.ask("workspace/executeCommand", {"command": "ridgeline.openReport", "arguments": [uri]})
    text = Path(result["uri"].removeprefix("file://")).read_text()
    assert "peak memory" in text
    assert "self.fc1(" in text
    assert "window/showDocument" in editor.asked
    page = editor.ask("ridgeline/report", {"profileId": profile["profileId"]})["html"]
    assert page.startswith("<!doctype html>") and "self.fc1(" in page
    assert "error" in editor.call("ridgeline/report", {"profileId": "gone"})
