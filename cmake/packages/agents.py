"""agents.py PROGRAM FOLDER [TORCH@PYTHON...]: agents for torch's packages, so that a first profile needs no compiler.

For each pair, such as 2.13@3.11, builds what PROGRAM would build there, and copies it into FOLDER. Only headers are
needed: those of torch come from its package in the index (kept in build/torch-headers), those of Python from an
interpreter of that version, which tests/matrix.py finds; without a list, pairs that have none are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import matrix  # noqa: E402

HEADERS = ROOT / "build" / "torch-headers"
LIBRARIES = ("torch_python", "torch_cpu", "c10")
# By minor version of torch 2: the oldest and the newest Python 3 that its packages are for and that we know.
PYTHONS = {4: (10, 12), 5: (10, 12), 6: (10, 13), 7: (10, 13), 8: (10, 13)} | {
    minor: (10, 14) for minor in range(9, 16)
}
FIRST_WITH_NEW_ABI = 7  # torch's packages in the index before are built with the ABI of std::string before C++11


def pairs() -> list[str]:
    return [f"2.{torch}@3.{python}" for torch, (old, new) in PYTHONS.items() for python in range(old, new + 1)]


def run(*command: str | Path, **environment: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def torch_headers(torch: str, python: str) -> Path:
    """The folder `include` of a torch of that minor version."""
    folder = HEADERS / torch
    if not (folder / "torch" / "include").exists():
        with tempfile.TemporaryDirectory() as name:
            wanted = f"torch=={torch}.*"
            options = ("--no-deps", "--quiet", "--only-binary", ":all:", "--python-version", python, "--dest", name)
            run(sys.executable, "-m", "pip", "download", *options, wanted)
            (wheel,) = Path(name).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                members = [one for one in archive.namelist() if one.startswith("torch/include/")]
                archive.extractall(folder, members)
    return folder / "torch" / "include"


def library_stubs(folder: Path) -> Path:
    """Libraries named as torch's are, without symbols: what is linked with them asks for torch's when it is loaded."""
    for name in LIBRARIES:
        file = f"lib{name}.so"
        run("c++", "-shared", "-o", folder / file, f"-Wl,-soname,{file}", "-x", "c++", "/dev/null")
    return folder


def python_paths(python: str) -> dict[str, str]:
    """Its headers, and the tag of its extension modules."""
    ask = (
        "import json, sysconfig; print(json.dumps([sysconfig.get_path('include'), sysconfig.get_config_var('SOABI')]))"
    )
    interpreter = sys.executable if sysconfig.get_python_version() == python else matrix.find_python(python)
    include, tag = json.loads(run(interpreter, "-c", ask))
    return {"include": include, "tag": tag}


def build(program: Path, pair: str, cache: Path, stubs: Path) -> None:
    torch, python = pair.split("@")
    headers, of_python = torch_headers(torch, python), python_paths(python)
    description = {
        "torch": f"{torch}.0",
        "cxx11Abi": int(torch.split(".")[1]) >= FIRST_WITH_NEW_ABI,
        "pythonTag": of_python["tag"],
        "includeDirs": [str(headers), str(headers / "torch/csrc/api/include"), of_python["include"]],
        "libraryDirs": [str(stubs)],
    }
    file = cache / "description.json"
    file.write_text(json.dumps(description))
    print(run(program, "agent", "build", "--description", file, RIDGELINE_CACHE=str(cache)), end="", flush=True)


def main(program: Path, folder: Path, wanted: list[str]) -> None:
    os.environ.pop("RIDGELINE_AGENT_FLAGS", None)
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name)
        stubs = cache / "stubs"
        stubs.mkdir()
        library_stubs(stubs)
        left_out = []
        for pair in wanted or pairs():
            try:
                build(program, pair, cache, stubs)
            except matrix.Failed as problem:
                if wanted:
                    sys.exit(f"{pair}: {problem}")
                left_out.append(f"{pair}: {problem}")
        print(run(program, "agent", "export", folder, RIDGELINE_CACHE=name), end="")
    if left_out:
        print("Left out:", *left_out, sep="\n  ")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3:])
