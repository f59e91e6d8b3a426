"""docs/user/security.md: nothing untrusted runs, what is trusted is told apart, and what code is called stays text."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_entries import entry as entry_point
from bad_entries import project

from .editor import Editor
from .project import SETTINGS, cache
from .wire import Daemon, Wire, connected

Stdio = Callable[..., tuple[Daemon, Wire]]
RUNS = 'import pathlib\npathlib.Path(__file__).with_suffix(".ran").touch()'
ENTRY = entry_point(top=RUNS)


def repository(folder: Path, name: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["remote", "add", "origin", f"https://example.org/{name}"], ["add", "."]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    subprocess.run(["git", *identity, "commit", "-q", "-m", name], cwd=folder, check=True)


@pytest.fixture
def opened(tmp_path: Path, stdio: Stdio) -> Callable[..., Editor]:
    """An editor with a session of its own; all of a test share what is trusted."""

    def open_one(folder: Path, consent: str | None = "Profile") -> Editor:
        _, wire = stdio(env=cache(tmp_path))
        editor = Editor(wire, folder, dict(SETTINGS), consent)
        editor.begin()
        return editor

    return open_one


def asked(editor: Editor, path: Path) -> bool:
    """Profiles; whether the user was asked first."""
    editor.questions.clear()
    editor.call("ridgeline/profile", editor.open(path))
    return bool(editor.questions)


def test_only_an_agreed_profile_runs_anything(tmp_path: Path, opened: Callable[..., Editor]) -> None:
    entry = project(tmp_path / "theirs", ENTRY)
    (tmp_path / "link.py").symlink_to(entry)
    interpreter = entry.parent / ".venv" / "bin" / "python"  # theirs too
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f"#!/bin/sh\ntouch {tmp_path}/python.ran\n")
    interpreter.chmod(0o755)
    editor = opened(entry.parent, consent=None)
    editor.configure(python="")
    for path in (entry, tmp_path / "link.py"):
        document = editor.open(path)
        uri = path.as_uri()
        position = {"position": {"line": 6, "character": 5}}
        editor.call("textDocument/hover", document | position)
        editor.call("textDocument/codeLens", document)
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
        editor.call("textDocument/codeAction", document | {"range": whole, "context": {"diagnostics": []}})
        editor.call("textDocument/inlayHint", document | {"range": whole})
        editor.type_over(uri, "batch_size=4", "batch_size=8")
        editor.save(path)
        editor.call("ridgeline/setBatchSize", document | {"batchSize": 16})
        for arguments in ([uri], [uri, {"trust": "editor"}]):
            editor.call("workspace/executeCommand", {"command": "ridgeline.profile", "arguments": arguments})
        assert editor.call("ridgeline/profile", document)["error"]["data"]["kind"] == "not-trusted"
    moved = entry.rename(entry.with_name("moved.py"))
    changes = [{"uri": entry.as_uri(), "type": 3}, {"uri": moved.as_uri(), "type": 1}]
    editor.wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    assert asked(editor, moved)
    assert list(tmp_path.rglob("*.ran")) == []
    assert editor.questions, "it was asked, and refused"


def test_trust_is_of_a_real_path(tmp_path: Path, opened: Callable[..., Editor]) -> None:
    entry = project(tmp_path / "mine", ENTRY)
    editor = opened(tmp_path)
    assert asked(editor, entry)
    assert not asked(editor, entry)
    (tmp_path / "link").symlink_to(entry.parent)
    assert not asked(editor, tmp_path / "link" / "entry.py"), "the same file by another name"
    assert asked(editor, project(tmp_path / "copy", ENTRY))
    # The name that was agreed to now leads to somebody else's file.
    theirs = project(tmp_path / "theirs", ENTRY)
    entry.unlink()
    entry.symlink_to(theirs)
    assert asked(editor, entry)


def test_trust_is_of_a_repository(tmp_path: Path, opened: Callable[..., Editor]) -> None:
    entry = project(tmp_path / "clone", ENTRY)
    repository(entry.parent, "one")
    assert asked(opened(tmp_path), entry)
    assert not asked(opened(tmp_path), entry)
    entry.parent.rename(tmp_path / "before")
    repository(project(tmp_path / "clone", ENTRY).parent, "two")
    assert asked(opened(tmp_path), entry), "another repository at the same place"


@pytest.mark.parametrize("with_repository", [True, False])
def test_consent_ends_with_the_project(tmp_path: Path, opened: Callable[..., Editor], with_repository: bool) -> None:
    """The file system may give the same inodes again at once: that must not matter."""
    entry = tmp_path / "clone" / "entry.py"

    def clone(name: str) -> None:
        project(entry.parent, ENTRY)
        if with_repository:
            repository(entry.parent, name)

    def replace(name: str) -> None:
        shutil.rmtree(entry.parent)
        clone(name)

    clone("one")
    editor = opened(tmp_path)
    assert asked(editor, entry)
    editor.type_first(entry.as_uri(), "# mine\n")
    editor.save(entry)
    assert editor.settled()["state"] == "ready"
    assert entry.with_suffix(".ran").exists()

    # In the running daemon, on a mere save of a text that was not profiled: one that was needs no run.
    replace("two")
    editor.consent = None
    editor.type_first(entry.as_uri(), "# theirs\n")
    editor.save(entry)
    editor.until(lambda: len(editor.questions) == 2)
    assert "replaced" in editor.questions[-1]
    assert editor.call("ridgeline/profile", {"textDocument": {"uri": entry.as_uri()}})["error"]["code"] == -32803
    assert len(editor.questions) == 3
    assert not entry.with_suffix(".ran").exists()

    # In another one.
    replace("three")
    other = opened(tmp_path, consent=None)
    assert asked(other, entry)
    assert not entry.with_suffix(".ran").exists()
    other.consent = "Profile"
    assert asked(other, entry)
    assert entry.with_suffix(".ran").exists()
    assert not asked(opened(tmp_path), entry)


def test_an_editor_that_vouches_does_so_for_one_project(tmp_path: Path, stdio: Stdio) -> None:
    entry = project(tmp_path / "clone", ENTRY)
    _, wire = stdio(env=cache(tmp_path))
    editor = Editor(wire, tmp_path, dict(SETTINGS), None)
    editor.begin(initializationOptions={"trust": "editor"})
    assert not asked(editor, entry)
    shutil.rmtree(entry.parent)
    project(entry.parent, ENTRY)
    editor.type_first(entry.as_uri(), "# theirs\n")
    editor.save(entry)
    editor.until(lambda: editor.questions)
    assert not entry.with_suffix(".ran").exists()
    assert not asked(editor, entry), "to ask for a profile is agreement"


def test_what_waits_for_its_turn_is_looked_at_again(tmp_path: Path, opened: Callable[..., Editor]) -> None:
    slow = project(tmp_path / "slow", entry_point(top="import time\ntime.sleep(600)"))
    entry = project(tmp_path / "clone", ENTRY)
    editor = opened(tmp_path)
    running = editor.wire.begin("ridgeline/profile", editor.open(slow))
    waiting = editor.wire.begin("ridgeline/profile", editor.open(entry))
    editor.until(lambda: len(editor.questions) == 2)
    editor.ask("ridgeline/status")  # the answers have been read
    shutil.rmtree(entry.parent)
    project(entry.parent, ENTRY)
    editor.consent = None
    editor.wire.notify("$/cancelRequest", {"id": running})
    assert editor.answer(waiting)["error"]["data"]["kind"] == "not-trusted"
    assert len(editor.questions) == 3
    assert not entry.with_suffix(".ran").exists()


def test_a_question_is_about_what_was_there_when_it_was_asked(tmp_path: Path, stdio: Stdio) -> None:
    entry = project(tmp_path / "clone", ENTRY)
    _, wire = stdio(env=cache(tmp_path))

    class Replaced(Editor):
        def result_of(self, method: str, params: Any) -> Any:
            if method == "window/showMessageRequest" and not self.questions:
                shutil.rmtree(entry.parent)
                project(entry.parent, ENTRY)
                self.questions.append(params["message"])
                return {"title": "Profile"}
            return super().result_of(method, params)

    editor = Replaced(wire, tmp_path, dict(SETTINGS), None)
    editor.begin()
    document = editor.open(entry)
    assert editor.call("ridgeline/profile", document)["error"]["data"]["kind"] == "not-trusted"
    assert len(editor.questions) == 2
    assert not entry.with_suffix(".ran").exists()


def test_a_save_that_writes_a_new_file_is_a_save(tmp_path: Path, opened: Callable[..., Editor]) -> None:
    """Many editors do, and there is no repository that would stay the same."""
    entry = project(tmp_path / "project", ENTRY)
    editor = opened(tmp_path)
    assert asked(editor, entry)
    for _ in range(2):
        editor.type_first(entry.as_uri(), "# mine\n")
        (entry.parent / "new").write_text(editor.texts[entry.as_uri()])
        (entry.parent / "new").replace(entry)
        editor.save(entry)
        assert editor.settled()["state"] == "ready"
    assert not asked(opened(tmp_path), entry)
    assert len(editor.questions) == 1
    # What somebody else put there is no save.
    (entry.parent / "new").write_text(ENTRY + "# theirs\n")
    (entry.parent / "new").replace(entry)
    assert asked(opened(tmp_path), entry)


def test_names_are_text(tmp_path: Path, opened: Callable[..., Editor]) -> None:
    evil = "<img src=x onerror=alert(1)>|[a](command:e)`x``y|*b*\n# c"
    text = entry_point(
        model=f"evil = {evil!r}\nnet = type(evil, (torch.nn.Sequential,), {{}})()\n"
        "net.add_module(evil.replace('.', ''), torch.nn.Linear(8, 8))\nreturn net"
    )
    entry = project(tmp_path / "project", text)
    editor = opened(entry.parent)
    document = editor.open(entry)
    editor.ask("ridgeline/profile", document)
    hovers = []
    for line, words in enumerate(text.splitlines()):
        for match in re.finditer(r"\w+", words):
            hover = editor.ask(
                "textDocument/hover", document | {"position": {"line": line, "character": match.start()}}
            )
            hovers.append(hover["contents"]["value"] if hover else "")
    shown = "\n".join(hovers)
    assert "onerror" in shown, "the class is named"
    bare = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", shown)  # without what stands as code
    assert not re.search(r"<[a-z/!]|onerror|command:|^# c|\*b\*", bare, re.MULTILINE), bare
    for table in re.findall(r"(?:^\|.*\n)+", shown + "\n", re.MULTILINE):
        columns = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(columns) == 1, table


HOSTILE = (
    "[Install the update](command:evil) ![x](https://example.org/x.png) <img src=x onerror=e> $(trash) \x1b[2J\u202e"
)
LINK = re.compile(r"\[[^\]]+\]\([^)\s]+")  # as VS Code has it for notifications, without regard to the scheme
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def texts_of(value: Any, members: set[str]) -> list[str]:
    """What stands in members of these names, however deep."""
    if isinstance(value, list):
        return [text for one in value for text in texts_of(one, members)]
    if not isinstance(value, dict):
        return []
    own = [text for name, text in value.items() if name in members and isinstance(text, str)]
    return own + [text for name, one in value.items() if name != "data" for text in texts_of(one, members)]


def test_what_code_says_never_acts(tmp_path: Path, opened: Callable[..., Editor]) -> None:
    raising = f"raise type({HOSTILE!r}, (RuntimeError,), {{}})({HOSTILE!r})"
    entry = project(tmp_path / "project", entry_point())
    entry = entry.rename(entry.with_name("[Install the update](command:evil) *b* ![x](www.example.org).py"))
    editor = opened(entry.parent)
    said: list[dict[str, Any]] = []
    receive = editor.wire.receive
    editor.wire.receive = lambda: said.append(receive()) or said[-1]  # type: ignore[method-assign]
    document = editor.open(entry)
    uri = document["textDocument"]["uri"]
    editor.ask("ridgeline/profile", document)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 40, "character": 0}}
    actions = {"range": whole, "context": {"diagnostics": []}}

    def look() -> str:
        """Everything that an editor shows of the file; the hovers."""
        for method, more in (
            ("textDocument/inlayHint", {"range": whole}),
            ("textDocument/codeLens", {}),
            ("textDocument/codeAction", actions),
        ):
            editor.ask(method, document | more)
        hovers = [
            editor.ask("textDocument/hover", document | {"position": {"line": line, "character": column}})
            for line, words in enumerate(editor.texts[uri].splitlines())
            for column in {match.start() for match in re.finditer(r"\w+", words)}
        ]
        return "\n".join(hover["contents"]["value"] for hover in hovers if hover)

    look()
    editor.type_over(uri, "calls += 1", "calls += 2")
    stale = look()
    assert "Figures are from before" in stale and "Install the update" in stale, stale
    bare = re.sub(r"\\[!-/:-@\[-`{-~]|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", stale)  # without what is escaped, or code
    assert not re.search(r"[\[\]]|<[a-z/!]|\*b\*|www\.", bare), bare
    editor.type_over(uri, "calls += 2", raising)
    failed = editor.call("ridgeline/profile", document)
    assert "Install the update" in failed["error"]["message"]
    editor.until(lambda: editor.diagnostics.get(uri))
    look()
    command = {"command": "ridgeline.profile", "arguments": [uri]}
    assert "Install the update" in editor.call("workspace/executeCommand", command)["error"]["message"]
    editor.configure(timeBudget=HOSTILE, batchSizes=[HOSTILE])
    editor.configure(python=f"/nowhere/{HOSTILE}")
    editor.call("ridgeline/profile", document)
    editor.call("workspace/executeCommand", {"command": HOSTILE, "arguments": [uri]})
    editor.call("ridgeline/predict", {"profileId": HOSTILE})
    editor.call(HOSTILE)
    shown: list[str] = []
    for message in said:
        if not str(message.get("method", "")).startswith("ridgeline/"):
            result = message.get("result")
            own = isinstance(result, dict) and "profileId" in result  # a method of ours: its texts are data
            shown += texts_of({} if own else message, {"message", "title", "label", "reason", "code"})
    kinds = {message.get("method") for message in said}
    assert {"window/showMessage", "window/showMessageRequest", "$/progress"} <= kinds, kinds
    assert sum("Install the update" in text for text in shown) >= 8, shown
    for text in shown:
        assert not LINK.search(re.sub(r"\s", " ", text)), text
        assert not UNSAFE.search(text), text
    titles = texts_of(said, {"title", "label"})
    assert titles and not any("$(" in title for title in titles)


def test_the_token_is_nowhere_but_in_its_file(tmp_path: Path, start: Callable[..., Daemon]) -> None:
    entry = project(tmp_path / "project", ENTRY.replace("touch()", "write_text(repr(__import__('os').environ))"))
    daemon = start("--socket", "0", "--token-file", tmp_path / "token", env=cache(tmp_path))
    token = daemon.token()
    with connected(daemon.port()) as wire:
        assert wire.ask("ridgeline/authenticate", {"token": token})["result"] is None
        editor = Editor(wire, entry.parent, dict(SETTINGS))
        editor.begin()
        editor.ask("ridgeline/profile", editor.open(entry))
        seen = [daemon.log.read_bytes(), entry.with_suffix(".ran").read_bytes()]
        children = Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()
        assert children, "the interpreter stays"
        for pid in (daemon.process.pid, *children):
            seen += [Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
        wire.end()
    assert not any(token.encode() in data for data in seen)
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".so"]
    assert not any(token.encode() in path.read_bytes() for path in kept)


def test_user_code_inherits_nothing_of_the_daemon(tmp_path: Path, start: Callable[..., Daemon]) -> None:
    listing = "{fd: os.readlink(f'/proc/self/fd/{fd}') for fd in range(1000) if os.path.lexists(f'/proc/self/fd/{fd}')}"
    text = ENTRY.replace("import pathlib", "import json, os, pathlib").replace(
        "touch()", f"write_text(json.dumps({listing}))"
    )
    entry = project(tmp_path / "project", text)
    daemon = start("--pipe", tmp_path / "socket", env=cache(tmp_path))
    daemon.wait_for_words("listening")
    with connected(tmp_path / "socket") as wire:
        editor = Editor(wire, entry.parent, dict(SETTINGS))
        editor.begin()
        editor.ask("ridgeline/profile", editor.open(entry))
        folder = Path(f"/proc/{daemon.process.pid}/fd")
        ours = {os.readlink(fd) for fd in folder.iterdir() if fd.is_symlink()}
        wire.end()
    theirs = json.loads(entry.with_suffix(".ran").read_text())
    shared = {name for name in theirs.values() if name in ours and not name.startswith("/dev/null")}
    # What it writes is read by the daemon: a pipe has one name at both ends.
    assert all(name.startswith("pipe:") and name in (theirs["1"], theirs["2"]) for name in shared), shared
    assert len(theirs) <= 12, theirs
