"""How `--stop` ends a script: by an exception where nothing would catch it, else at once, and with whole files."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest
from conftest import PYTHON

RUNNER = Path(__file__).resolve().parents[2] / "profiler" / "runner"
BEGIN = f"""
import contextlib, sys, unittest
sys.path.insert(0, {str(RUNNER)!r})
from ridgeline_runner.script.end import ScriptEnd

def stop():
    end = ScriptEnd(sys._getframe())
    print("at once" if end._caught_at else "raised", flush=True)
    end.leave()
"""

# Each ends with status 0, and says how.
RAISED = {
    "nothing": "stop()",
    "except Exception": """
        try: stop()
        except Exception: print("caught")
    """,
    "it is raised again": """
        try: stop()
        except BaseException as error:
            print("clean")
            raise
    """,
    "SystemExit goes on before": """
        try: stop()
        except SystemExit: raise
        except: print("caught")
    """,
    "finally and with": """
        try:
            with open(sys.argv[0]): stop()
        finally: print("finally")
    """,
    "defined in another try": """
        try:
            def inner(): stop()
        except BaseException: pass
        inner()
    """,
    "in a handler": """
        try: raise ValueError
        except ValueError: stop()
        except BaseException: pass
    """,
    "another exception is suppressed": "with contextlib.suppress(ValueError): stop()",
}
AT_ONCE = {
    "except": """
        try: stop()
        except: print("caught")
    """,
    "except BaseException, further out": """
        def inner():
            try: stop()
            finally: pass
        try: inner()
        except (ValueError, BaseException): print("caught")
    """,
    "a name of the script's": """
        ALL = (SystemExit, KeyboardInterrupt)
        try: stop()
        except ALL: print("caught")
    """,
    "raised again, perhaps": """
        def inner():
            try: stop()
            except BaseException:
                if True: return
                raise
        inner()
    """,
    "return in finally": """
        def inner():
            try: stop()
            finally: return
        inner()
    """,
    "suppress": "with contextlib.suppress(BaseException): stop()",
    "a test": "with unittest.TestCase().assertRaises(SystemExit): stop()",
    "a thread": """
        import threading
        thread = threading.Thread(target=stop)
        thread.start()
        thread.join()
        print("went on")
    """,
}


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(BEGIN + textwrap.dedent(text))
    return subprocess.run([PYTHON, script], capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.parametrize(
    ("how", "text"),
    [*(("raised", text) for text in RAISED.values()), *(("at once", text) for text in AT_ONCE.values())],
    ids=[*RAISED, *AT_ONCE],
)
def test_how_a_script_is_ended(tmp_path: Path, how: str, text: str) -> None:
    done = run(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == how
    assert "caught" not in done.stdout and "went on" not in done.stdout
    assert done.stderr == ""


def test_what_was_written_is_whole(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import atexit
        atexit.register(print, "at exit")
        sys.stdout.reconfigure(line_buffering=False)
        file = open("log.txt", "w")
        file.write("half")
        try:
            end = ScriptEnd(sys._getframe())
            print(*end.warnings())
            end.leave()
        except BaseException: print("caught")
        """,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "log.txt").read_text() == "half"
    told, last = done.stdout.splitlines()
    assert last == "at exit"
    assert f"may be incomplete: {tmp_path / 'log.txt'}." in told and "script.py:" in told


def test_an_exception_that_was_caught_unseen_ends_it_the_second_time(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        class Catching:
            def __enter__(self): pass
            def __exit__(self, *_): return True
        end = ScriptEnd(sys._getframe())
        with Catching(): end.leave()
        print("second", flush=True)
        with Catching(): end.leave()
        print("went on")
        """,
    )
    assert (done.returncode, done.stdout) == (0, "second\n")
