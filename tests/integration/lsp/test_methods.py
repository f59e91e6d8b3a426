"""What a user does in an editor, from outside: open, trust, profile, edit, save, break the code, mend it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
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


def test_a_failure_stands_at_each_line_of_the_project_that_led_to_it(editor: Editor) -> None:
    """The error is in a file that is not open at first: the caller that is open has it until then."""
    entry = editor.folder / "entry.py"
    blocks = editor.folder / "net" / "blocks.py"
    blocks.parent.mkdir()
    blocks.write_text("def widen(hidden, linear):\n    return linear(hidden)\n")
    text = entry.read_text().replace("self.fc2(hidden)", "widen(hidden[:, 1:], self.fc2)")
    entry.write_text("from net.blocks import widen\n" + text)
    document = editor.open(entry)
    editor.call("ridgeline/profile", document)
    severities = lambda path: sorted(d["severity"] for d in editor.diagnostics.get(path.as_uri(), []))  # noqa: E731
    editor.until(lambda: severities(entry) and severities(entry)[0] == 1)
    lines = entry.read_text().splitlines()
    called, outer = (
        next(i for i, line in enumerate(lines) if words in line) for words in ("widen(hidden[", "= model(images)")
    )
    by_line = {d["range"]["start"]["line"]: d for d in editor.diagnostics[entry.as_uri()]}
    assert by_line[called]["severity"] == 1 and by_line[outer]["severity"] == 4
    assert by_line[called]["message"].startswith("blocks.py:2: RuntimeError: ")
    assert by_line[outer]["message"].startswith(f"blocks.py:2 ← entry.py:{called + 1}: RuntimeError: ")
    editor.open(blocks)
    editor.until(lambda: severities(blocks) == [1])
    assert editor.diagnostics[blocks.as_uri()][0]["message"].startswith("RuntimeError: ")
    related = [place["location"]["uri"] for place in editor.diagnostics[blocks.as_uri()][0]["relatedInformation"]]
    assert set(related) == {entry.as_uri()}
    editor.until(lambda: set(severities(entry)) == {4})


def test_where_a_batch_size_ran_out_of_memory(editor: Editor) -> None:
    """Half of it is profiled. The line that asked for more has what was allocated then, until the code changes."""
    entry = editor.folder / "entry.py"
    text = entry.read_text().replace("batch_size: int = 64", "batch_size: int = 4000")
    forward = "        hidden = self.flatten(images)\n"
    asks = "        torch.empty(1 << 50 if len(images) > 3000 else 1)\n"
    entry.write_text(text.replace(forward, forward + asks))
    document = editor.open(entry)
    editor.call("ridgeline/profile", document)
    shown = lambda: [d for d in editor.diagnostics.get(entry.as_uri(), []) if d["code"] == "out-of-memory"]  # noqa: E731
    editor.until(shown)
    (found,) = shown()
    line = entry.read_text().splitlines().index(asks.rstrip())
    assert found["range"]["start"]["line"] == line and found["severity"] == 2
    assert found["message"].startswith(f"Batch 4000 ran out of memory: entry.py:{line + 1} (empty) asked for ")
    assert "\nMost of it: " in found["message"]
    editor.type_over(entry.as_uri(), "1 << 50", "1 << 51")
    editor.until(lambda: not shown())


@pytest.mark.long
def test_a_save_says_what_it_changed(editor: Editor) -> None:
    entry = editor.folder / "entry.py"
    step = "optimizer.zero_grad()"
    # Sleeping repeats closely on any machine, so that the same step is never called another one.
    entry.write_text(
        entry.read_text()
        .replace(step, f"time.sleep(0.03); {step}")
        .replace("import torch\n", "import time\nimport torch\n")
    )
    document = editor.open(entry)
    assert editor.ask("ridgeline/profile", document)["change"] == ""
    noise = "not compared: (the machine was busy|the time varies too much|too little was measured)"
    for old, new, expected in (
        ("def forward(self, ", "def forward(self,  ", "no change within the noise"),
        ("time.sleep(0.03)", "time.sleep(0.09)", r"\d+ % slower \([\d.]+ ms before\)"),
    ):
        editor.type_over(entry.as_uri(), old, new)
        editor.save(entry)
        assert editor.settled()["state"] == "ready"
        change = editor.ask("ridgeline/summary", document)["change"]
        assert re.fullmatch(f"{expected}|{noise}", change), change


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
    assert "Raise the setting `timeLimit`" in error["message"] and "--timeout" not in error["message"]


def test_an_interpreter_without_torch_names_the_setting(editor: Editor) -> None:
    python = editor.folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S: no site-packages
    python.chmod(0o755)
    editor.configure(python=str(python))
    error = editor.call("ridgeline/profile", editor.open(editor.folder / "entry.py"))["error"]
    assert error["data"]["kind"] == "no-torch"
    for message in (error["message"], error["data"]["message"]):
        assert "in the setting `python`" in message and " --" not in message


def test_a_script_without_providers_is_not_run(editor: Editor) -> None:
    ran = editor.folder / "ran"
    script = editor.folder / "train.py"
    script.write_text(f"open({str(ran)!r}, 'w').close()\n")
    document = editor.open(script)
    error = editor.call("ridgeline/profile", document)["error"]
    assert error["data"]["kind"] == "provider-missing" and "train.py defines no `model_provider`" in error["message"]
    assert "Ridgeline can write a first version" in error["message"] and "profile it as a script" in error["message"]
    assert "`ridgeline " not in error["message"] and "`ridgeline " not in error["data"]["message"]
    editor.replace(script.as_uri(), {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "#\n")
    assert editor.call("ridgeline/profile", {"textDocument": {"uri": script.as_uri()}})["error"]["data"]["kind"]
    assert editor.ask("ridgeline/status", document)["target"]["isScript"] is False
    editor.type_over(script.as_uri(), "open", "import torch\nloss.backward()\nopen")  # what is open decides
    assert editor.ask("ridgeline/status", document)["target"]["isScript"] is True
    editor.type_over(script.as_uri(), "loss", "def model_provider(): ...\n\n\nloss")
    assert editor.ask("ridgeline/status", document)["target"]["isScript"] is False
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
    assert re.search(r"The largest that (fits|is predicted to fit) is \d", words["message"])
    editor.configure(advice={"will-not-fit": False})
    editor.until(lambda: "will-not-fit" not in codes())


def test_files_beyond_those_that_can_have_figures(editor: Editor) -> None:
    """A client that opens all files of a large folder takes no more memory than that; others are named once."""
    for number in range(2060):
        editor.open(editor.folder / f"{number}.py", "import torch\n")
    editor.until(lambda: [text for text in editor.logged if "Python files are open" in text])
    document = editor.open(editor.folder / "entry.py")
    assert editor.ask("textDocument/codeLens", document) in (None, [])
    assert len([text for text in editor.logged if "Python files are open" in text]) == 1


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
