"""The methods, from outside: an editor opens an entry point, profiles it, and looks at what it is shown."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .editor import CAPABILITIES, Editor
from .project import SETTINGS, cache, copy_of_mlp
from .wire import Daemon, Wire


@pytest.mark.parametrize("token", [{}, [], True, 0.5])
@pytest.mark.parametrize("has_settings", [True, False])
def test_a_token_of_a_wrong_type_is_refused(
    tmp_path: Path, stdio: Callable[..., tuple[Daemon, Wire]], token: Any, has_settings: bool
) -> None:
    """Also where the request would have to wait for the settings before the token is used."""
    _, wire = stdio(checked=False, env=cache(tmp_path))
    editor = Editor(wire, tmp_path, dict(SETTINGS), None)
    wire.initialize(CAPABILITIES)
    if has_settings:
        editor.until(lambda: "workspace/configuration" in editor.asked)
    document = {"textDocument": {"uri": (tmp_path / "entry.py").as_uri()}}
    command = {"command": "ridgeline.profile", "arguments": [document["textDocument"]["uri"]]}
    for method, params in (("ridgeline/profile", document), ("workspace/executeCommand", command)):
        number = wire.begin(method, params | {"workDoneToken": token})
        answer = wire.answer(number)  # what the server asks meanwhile, such as for the settings, waits
        assert answer["error"]["code"] == -32602, answer


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


# ---- what is shown


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
    assert figures == sorted(figures)


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
    assert status["target"]["trusted"] is True
    assert status["target"]["torch"].startswith("2.")
    assert status["workerWarm"] is True
    assert [entry["state"] for entry in status["entries"]] == ["ready"]


def test_report_can_be_opened(profiled: Profiled) -> None:
    editor, document, _ = profiled
    uri = document["textDocument"]["uri"]
    result = editor.ask("workspace/executeCommand", {"command": "ridgeline.openReport", "arguments": [uri]})
    text = Path(result["uri"].removeprefix("file://")).read_text()
    assert "peak memory" in text
    assert "self.fc1(" in text
    assert "window/showDocument" in editor.asked


# ---- what the user does


def test_a_whole_session(editor: Editor) -> None:
    """Open, trust, profile, edit, save, break the code, fix it."""
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    uri = entry.as_uri()
    summary = editor.ask("ridgeline/profile", document)
    assert len(editor.questions) == 1
    assert str(entry) in editor.questions[0]

    # A marker stays on its line while one types above it, and is dropped when its own line changes.
    def costly() -> set[str]:
        costs = editor.ask("ridgeline/lineCosts", document | {"profileId": summary["profileId"]})
        return {editor.texts[uri].splitlines()[line["line"]].strip() for line in costs["lines"]}

    before = costly()
    editor.replace(uri, {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "# new\n\n")
    assert costly() == before
    assert editor.ask("ridgeline/summary", document)["stale"] is True
    assert "entry.py was changed" in editor.ask("ridgeline/summary", document)["staleReason"]
    line = next(line for line in before if "self.fc2(" in line)
    editor.type_over(uri, line, line + "  # mine")
    assert costly() == before - {line}

    editor.save(entry)
    assert editor.settled()["state"] == "ready"
    assert len(editor.questions) == 1  # asked once
    assert editor.ask("ridgeline/summary", document)["profileId"] != summary["profileId"]
    assert editor.call("ridgeline/breakdown", {"profileId": summary["profileId"]})["error"]["code"] == -32801

    editor.type_over(uri, "def forward(self, ", "def forward(self, nothing, ")
    editor.save(entry)
    assert editor.settled()["state"] == "failed"
    errors = lambda: [d for d in editor.diagnostics.get(uri, []) if d["severity"] == 1]  # noqa: E731
    problem = editor.until(errors)[0]
    assert problem["code"] == "exception"
    assert "nothing" in problem["message"] or "argument" in problem["message"]
    assert editor.texts[uri].splitlines()[problem["range"]["start"]["line"]].strip() != ""
    assert editor.ask("ridgeline/summary", document)["stale"] is True  # the last good figures are still there

    editor.type_over(uri, "def forward(self, nothing, ", "def forward(self, ")
    editor.save(entry)
    editor.until(lambda: editor.changes[-1]["state"] == "ready")
    editor.until(lambda: not any(d["severity"] == 1 for d in editor.diagnostics[uri]))


def test_a_save_of_another_batch_size_runs_nothing(editor: Editor) -> None:
    editor.configure(tryBatchSizes=False)
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    made = editor.ask("ridgeline/profile", document)
    titles = lambda: [lens["command"]["title"] for lens in editor.ask("textDocument/codeLens", document)]  # noqa: E731
    assert titles()[0] == "▷ Profile"
    editor.changes.clear()
    for old, new in (("64", "48"), ("48", "80"), ("80", "64")):
        editor.type_over(entry.as_uri(), f"batch_size: int = {old}", f"batch_size: int = {new}")
        editor.save(entry)
        assert titles()[0] == ("▷ Profile" if new == "64" else f"▷ Profile with {new}")
    assert editor.ask("ridgeline/summary", document)["profileId"] == made["profileId"]

    # Once another character changes, the whole is profiled.
    editor.type_over(entry.as_uri(), "batch_size: int = 64", "batch_size: int = 48")
    editor.save(entry)
    editor.type_over(entry.as_uri(), "batch_size: int = 48", "batch_size: int = 48,")
    editor.save(entry)
    assert editor.settled()["state"] == "ready"
    summary = editor.ask("ridgeline/summary", document)
    assert summary["batchSize"] == 48 and summary["change"] == ""


def test_a_save_says_what_it_changed(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    assert editor.ask("ridgeline/profile", document)["change"] == ""
    editor.type_over(entry.as_uri(), "def forward(self, ", "def forward(self,  ")
    editor.save(entry)
    assert editor.settled()["state"] == "ready"
    summary = editor.ask("ridgeline/summary", document)
    assert re.fullmatch(r"no change within the noise|.* (faster|slower) \(.* before\).*", summary["change"])


def test_a_save_of_a_text_that_was_profiled_runs_nothing(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    log = editor.folder / "loaded"
    entry.write_text(f"open({str(log)!r}, 'a').write('x')\n" + entry.read_text())
    document = editor.open(entry)
    runs = lambda: len(log.read_text())  # noqa: E731
    first = editor.ask("ridgeline/profile", document)["profileId"]
    assert runs() == 1

    def save(old: str, new: str) -> None:
        editor.type_over(entry.as_uri(), old, new)
        editor.save(entry)

    def answered_by(profile_id: str) -> bool:
        last = editor.changes[-1] if editor.changes else {}
        return last.get("state") == "ready" and last["profileId"] == profile_id and not last["profiling"]

    save("def forward(self, ", "def forward(self,  ")
    assert editor.settled()["state"] == "ready"
    second = editor.ask("ridgeline/summary", document)["profileId"]
    assert runs() == 2 and second != first
    save("def forward(self,  ", "def forward(self, ")
    editor.until(lambda: answered_by(first))
    save("def forward(self, ", "def forward(self,  ")
    editor.until(lambda: answered_by(second))
    assert runs() == 2

    # A text that fails, and then the one before it.
    save("def forward(self,  ", "def forward(self, nothing, ")
    assert editor.settled()["state"] == "failed"
    save("def forward(self, nothing, ", "def forward(self,  ")
    editor.until(lambda: answered_by(second))
    assert runs() == 3


def test_nothing_runs_without_consent(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    mark = editor.folder / "ran"
    entry.write_text(f"open({str(mark)!r}, 'w').close()\n" + entry.read_text())
    editor.consent = None
    document = editor.open(entry)
    editor.save(entry)
    editor.ask("textDocument/codeLens", document)
    answer = editor.call("ridgeline/profile", document)
    assert answer["error"]["data"]["kind"] == "not-trusted"
    assert not mark.exists()
    editor.consent = "Profile"
    editor.ask("ridgeline/profile", document)
    assert mark.exists()


def test_a_failure_names_the_settings_of_the_editor(editor: Editor) -> None:
    editor.configure(timeLimit=3)
    entry = editor.folder / "entry.py"
    error = editor.call("ridgeline/profile", editor.open(entry, "import time\ntime.sleep(600)\n" + entry.read_text()))[
        "error"
    ]
    assert error["data"]["kind"] == "timeout"
    assert "Raise the setting `timeLimit`" in error["message"] and "--time-limit" not in error["message"]


def test_a_script_without_providers_is_not_run(editor: Editor) -> None:
    ran = editor.folder / "ran"
    script = editor.folder / "train.py"
    script.write_text(f"open({str(ran)!r}, 'w').close()\n")
    error = editor.call("ridgeline/profile", editor.open(script))["error"]
    assert error["data"]["kind"] == "provider-missing" and "train.py defines no `model_provider`" in error["message"]
    assert "Ridgeline can write a first version" in error["message"] and "ridgeline init" not in error["message"]
    editor.replace(script.as_uri(), {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "#\n")
    assert editor.call("ridgeline/profile", {"textDocument": {"uri": script.as_uri()}})["error"]["data"]["kind"]
    assert editor.questions == [] and not ran.exists()


def test_an_entry_point_is_written_from_the_text_in_the_editor(editor: Editor) -> None:
    script = editor.folder / "train.py"
    script.write_text("saved = 1\n")
    document = editor.open(
        script,
        "from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n\n\n"
        "def train(loader, optimizer):\n    model = Net()\n    for x, y in loader:\n"
        "        model(x, y).backward()\n        optimizer.step()\n",
    )
    made = editor.ask("ridgeline/entryPoint", document)
    assert made["fileName"] == "entry_2.py" and not (editor.folder / "entry_2.py").exists()
    assert "from train import Net" in made["text"] and "return Net()" in made["text"]
    assert made["unknown"] and all(f"TODO: {each}" in made["text"] for each in made["unknown"])
    other = editor.folder / "other.py"
    error = editor.call("ridgeline/entryPoint", editor.open(other, "x = 1\n"))["error"]
    assert error["code"] == -32803 and error["message"].startswith("other.py: The file defines no model")
    missing = {"textDocument": {"uri": (editor.folder / "missing.py").as_uri()}}
    assert editor.call("ridgeline/entryPoint", missing)["error"]["code"] == -32602


def test_trust_outlives_the_daemon(editor: Editor, stdio: Callable[..., tuple[Daemon, Wire]], tmp_path: Path) -> None:
    entry = editor.folder / "entry.py"
    editor.ask("ridgeline/profile", editor.open(entry))
    _, wire = stdio(env=cache(tmp_path))
    other = Editor(wire, editor.folder, dict(SETTINGS))
    other.begin()
    document = other.open(entry)
    other.until(lambda: other.changes)  # the kept profile, without running anything
    assert other.changes[-1]["state"] == "ready"
    assert other.ask("ridgeline/status", document)["workerWarm"] is False
    other.ask("ridgeline/profile", document)
    assert other.questions == []
    wire.end()
    wire.assert_conforms()


def test_a_profile_that_cannot_be_kept_is_logged(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "cache" / "profiles.sqlite").mkdir()
    summary = editor.ask("ridgeline/profile", editor.open(editor.folder / "entry.py"))
    assert summary["timeMs"] > 0
    assert any("the profile was not kept" in message for message in editor.logged), editor.logged


def test_the_unsaved_text_is_profiled(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    editor.type_over(entry.as_uri(), "batch_size: int = 64", "batch_size: int = 48")
    assert editor.ask("ridgeline/profile", document)["batchSize"] == 48
    assert "batch_size: int = 64" in entry.read_text()


def test_a_burst_of_batch_sizes_becomes_few_edits(editor: Editor) -> None:
    document = editor.open(editor.folder / "entry.py")
    uri = document["textDocument"]["uri"]
    before = editor.texts[uri]
    numbers = [editor.wire.begin("ridgeline/setBatchSize", document | {"batchSize": 65 + i}) for i in range(20)]
    answers: dict[int, Any] = {}

    def all_there() -> bool:
        return len(answers) == len(numbers)

    def step() -> bool:
        message = editor.wire.receive()
        assert message is not None
        if "method" in message:
            editor.handle(message)
        else:
            answers[message["id"]] = message["result"]
        return all_there()

    while not step():
        pass
    assert editor.texts[uri] == before.replace("batch_size: int = 64", "batch_size: int = 84")
    assert editor.edits <= 3
    assert answers[numbers[-1]] == {"applied": True, "batchSize": 84, "reason": ""}
    assert sum(answer["applied"] for answer in answers.values()) == editor.edits


def test_a_profile_can_be_cancelled(editor: Editor) -> None:
    editor.configure(timeBudget=600)
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    for way in ("request", "command", "progress"):
        editor.progress.clear()
        number = editor.wire.begin("ridgeline/profile", document | {"workDoneToken": way})
        editor.until(lambda: any("Timing" in value.get("message", "") for value in editor.progress))
        if way == "request":
            editor.wire.notify("$/cancelRequest", {"id": number})
        elif way == "progress":
            editor.wire.notify("window/workDoneProgress/cancel", {"token": way})
        else:
            cancel = {"command": "ridgeline.cancel", "arguments": [entry.as_uri()]}
            editor.wire.begin("workspace/executeCommand", cancel)
        while (message := editor.wire.receive()) is not None:
            if "method" in message:
                editor.handle(message)
            elif message["id"] == number:
                break
        assert message is not None
        assert message["error"]["code"] == -32800
        editor.until(lambda: editor.progress and editor.progress[-1]["kind"] == "end")
        editor.until(lambda: not editor.changes[-1]["profiling"])


def test_mistakes_are_shown_and_fixed(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    text = entry.read_text().replace("def input_provider(", "async def input_provider(")
    document = editor.open(entry, text)
    uri = entry.as_uri()
    editor.until(lambda: editor.diagnostics.get(uri))
    problem = editor.diagnostics[uri][0]
    assert problem["code"] == "provider-invalid"
    context = {"diagnostics": [problem], "only": ["quickfix"]}
    actions = editor.ask("textDocument/codeAction", document | {"range": problem["range"], "context": context})
    edit = actions[0]["edit"]["documentChanges"][0]["edits"][0]
    editor.replace(uri, edit["range"], edit["newText"])
    assert editor.texts[uri] == entry.read_text()
    editor.until(lambda: editor.diagnostics[uri] == [])


def test_advice_can_be_turned_off(editor: Editor) -> None:
    editor.configure(memoryLimit="512MiB")
    entry = editor.folder / "entry.py"
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    editor.type_over(entry.as_uri(), "batch_size: int = 64", "batch_size: int = 9999999")
    codes = lambda: [d["code"] for d in editor.diagnostics.get(entry.as_uri(), [])]  # noqa: E731
    editor.until(lambda: "will-not-fit" in codes())
    words = next(d for d in editor.diagnostics[entry.as_uri()] if d["code"] == "will-not-fit")
    assert "512 MiB" in words["message"]
    assert "The largest that fits is" in words["message"]
    editor.configure(advice={"will-not-fit": False})
    editor.until(lambda: "will-not-fit" not in codes())


def test_bad_settings_are_named(editor: Editor) -> None:
    editor.configure(timeBudget="soon")
    editor.until(lambda: "window/showMessage" in editor.asked)


def test_diagnostics_are_pulled_where_the_client_pulls(
    tmp_path: Path, stdio: Callable[..., tuple[Daemon, Wire]]
) -> None:
    entry = copy_of_mlp(tmp_path)
    _, wire = stdio(env=cache(tmp_path))
    editor = Editor(wire, entry.parent, dict(SETTINGS))
    result = editor.begin(
        CAPABILITIES
        | {
            "textDocument": CAPABILITIES["textDocument"] | {"diagnostic": {}},
            "workspace": CAPABILITIES["workspace"] | {"diagnostics": {"refreshSupport": True}},
        }
    )
    assert result["capabilities"]["diagnosticProvider"]["identifier"] == "ridgeline"
    document = editor.open(entry, entry.read_text().replace("def model_provider", "def model_provide"))
    report = editor.ask("textDocument/diagnostic", document)
    assert [item["code"] for item in report["items"]] == ["provider-missing"]
    assert editor.diagnostics == {}
    wire.end()
    wire.assert_conforms()


def test_two_sessions_share_a_profile(tmp_path: Path, start: Callable[..., Daemon]) -> None:
    from .wire import connected

    entry = copy_of_mlp(tmp_path)
    pipe = tmp_path / "run" / "pipe"
    daemon = start("--pipe", pipe, env=cache(tmp_path))
    daemon.wait_for_words("listening")
    with connected(pipe) as first, connected(pipe) as second:
        one, two = Editor(first, entry.parent, dict(SETTINGS)), Editor(second, entry.parent, dict(SETTINGS))
        for editor in (one, two):
            editor.begin()
            editor.open(entry)
        document = {"textDocument": {"uri": entry.as_uri()}}
        summary = one.ask("ridgeline/profile", document)
        two.until(lambda: two.changes and two.changes[-1]["state"] == "ready")
        assert two.ask("ridgeline/summary", document)["profileId"] == summary["profileId"]
        first_end = one.wire
        first_end.notify("exit")
        assert two.ask("ridgeline/predict", {"profileId": summary["profileId"], "batchSize": 8})["batch"]
