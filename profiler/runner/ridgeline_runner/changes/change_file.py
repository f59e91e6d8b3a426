"""A change that the user wrote in Python: what `ridgeline what-if --change-file FILE.py` runs with the user's
interpreter, as `change_file.py FILE TASKS OUTPUT`.

FILE defines `change(tasks)`, which is given the step's tasks as dictionaries and returns what a change as JSON has:
`title`, `takes` and `steps`. What it prints goes to stderr.
"""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
import traceback
from pathlib import Path


def main(file: str, tasks: str, output: str) -> None:
    """Writes `{"change": ...}` or, with what went wrong, `{"error": ...}`."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            sys.path.insert(0, str(Path(file).resolve().parent))
            change = runpy.run_path(file).get("change")
            if not callable(change):
                raise TypeError("it defines no function change(tasks)")
            found = {"change": change(json.loads(Path(tasks).read_text("utf-8")))}
        text = json.dumps(found)
    except BaseException as error:  # noqa: BLE001 - whatever user code raises is an answer, SystemExit included
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        where = f"line {places[-1].lineno}: " if places else ""
        text = json.dumps({"error": f"{where}{type(error).__name__}: {error}"[:2000]})
    Path(output).write_text(text, "utf-8")
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
