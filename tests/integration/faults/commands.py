"""Commands whose files, folders, limits or repositories are not as they should be. The daemon only watches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from random import Random

from bad_entries import entry, project
from conftest import BINARY, PYTHON, ROOT, assert_all_gone
from lsp.project import agents
from lsp.wire import PATIENCE
from test_bad_machine import compiler
from test_compare import git
from test_guard import CHANGES, check_that_it_ends_before

from .world import Fault, World, adds_to

FAULTS: list[Fault] = []
fault = adds_to(FAULTS)

QUICK = ("--python", PYTHON, "--seconds", "0.1")


def environment_of(world: World, **more: str) -> dict[str, str]:
    """For a command whose processes and temporary files are missed if they stay."""
    return {**os.environ, "MARK": world.mark, "TMPDIR": str(world.temporary), **more}


def run(
    world: World, *command: str | Path, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BINARY, *command],
        cwd=folder,
        env=environment_of(world, **environment),
        capture_output=True,
        text=True,
        timeout=20 * PATIENCE,
        check=False,
    )


@fault(
    "command",
    "changes a file when `ridgeline profile` runs it again",
    "it ends before the change, which is named",
)
def changes_files(world: World, random: Random) -> None:
    folder = world.folder / "guarded"
    place = folder / "place"
    place.mkdir(parents=True)
    check_that_it_ends_before(random.choice(sorted(CHANGES)), place, folder)
    shutil.rmtree(folder)


@fault(
    "file",
    "the agent that an interpreter is about to load is cut off, or has zeros in it",
    "it is rebuilt, and a profile is made",
)
def damaged_agent(world: World, random: Random) -> None:
    """Loaded, it would end the interpreter by a signal, each time."""
    folder = world.folder / "damaged"
    cache = folder / "cache"
    cache.mkdir(parents=True, mode=0o700)
    shutil.copytree(agents(), cache / "agents")
    wholes = {path: path.read_bytes() for path in cache.rglob("*.so")}
    for path, whole in wholes.items():
        at = random.randrange(1_000, len(whole))
        zeros = bytes(min(random.randint(1_000, 400_000), len(whole) - at))
        path.write_bytes(random.choice([whole[:at], whole[:at] + zeros + whole[at + len(zeros) :]]))
    damaged = {path for path, whole in wholes.items() if path.read_bytes() != whole}
    program = compiler(
        folder, f'name=$(basename "$(dirname "$output")" .build); cp {agents()}/"${{name%.*}}"/*.so "$output"'
    )
    path = project(folder / "project", entry())
    done = run(world, "profile", path, *QUICK, "--batch-sizes", "4", RIDGELINE_CACHE=str(cache), CXX=program)
    assert done.returncode == 0, done.stderr
    assert any(path.read_bytes() == wholes[path] for path in damaged) or not damaged
    shutil.rmtree(folder)


@fault(
    "file",
    "a repository's configuration would have git run programs in `compare --git`",
    "none runs; filters only once both revisions are known, and they are named",
)
def git_programs(world: World, random: Random) -> None:
    folder = world.folder / "repository"
    folder.mkdir()
    ran, program = folder / "ran", folder / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $1" >> {ran}\nexec cat\n')
    program.chmod(0o755)
    source = folder / "entry.py"
    git(folder, "init", "--quiet")
    for text in ("one = 1\n", "two = 2\n"):  # not an entry point: both are checked out, and neither is run
        source.write_text(text)
        git(folder, "add", "entry.py")
        git(folder, "commit", "--quiet", "--message", text)
    for setting in ("core.fsmonitor", "core.sshCommand", "remote.origin.uploadpack"):
        git(folder, "config", setting, f"{program} {setting}")
    git(folder, "config", "core.hooksPath", str(folder))
    (folder / "post-checkout").symlink_to(program)
    git(folder, "config", "filter.own.smudge", f"{program} filter")
    (folder / ".git/info/attributes").write_text("*.py filter=own\n")
    ran.unlink(missing_ok=True)  # what git was made to run here
    unknown = random.choice(["HEAD~1..nothing", "nothing..HEAD"])
    done = run(world, "compare", "--git", unknown, "entry.py", *QUICK, folder=folder)
    assert done.returncode == 2 and "there is no revision nothing" in done.stderr, done.stderr
    assert not ran.exists()
    done = run(world, "compare", "--git", "HEAD~1..HEAD", "entry.py", *QUICK, folder=folder)
    assert f"filter.own.smudge {program} filter" in done.stderr, done.stderr
    assert set(ran.read_text().splitlines()) == {f"{program} filter"}
    shutil.rmtree(folder)


@fault(
    "machine",
    "the cache's path has a colon, and `PYTHONPATH` is set but empty",
    "a script is recorded, and imports nothing from the working folder",
)
def odd_paths(world: World, random: Random) -> None:
    """A colon separates folders in PYTHONPATH; an empty folder is the working one."""
    del random
    folder = world.folder / "odd"
    cache = folder / "of: mine"
    cache.mkdir(parents=True, mode=0o700)
    shutil.copytree(agents(), cache / "agents")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "torch.py").write_text("raise SystemExit('imported from the working folder')\n")
    script = folder / "train.py"
    script.write_text(
        "import torch\nmodel = torch.nn.Linear(4, 4)\noptimizer = torch.optim.SGD(model.parameters())\n"
        "for _ in range(100000):\n    model(torch.ones(8, 4)).sum().backward()\n    optimizer.step()\n"
    )
    options = ("--stop", "--seconds", "0.1", "--python", PYTHON)
    done = run(
        world, "profile", *options, script, folder=folder / "elsewhere", RIDGELINE_CACHE=str(cache), PYTHONPATH=""
    )
    assert done.returncode == 0, done.stderr
    assert "batch 8" in done.stderr
    shutil.rmtree(folder)


@fault("machine", "a file may not grow, as by `ulimit -f`", "the command says so, with exit code 3")
def no_growth(world: World, random: Random) -> None:
    """SIGXFSZ would end it."""
    report = f"{BINARY} report {ROOT / 'tests' / 'data' / 'report' / 'sample.json'} --format html"
    output = world.temporary / "output"
    writes = random.choice([f"> {output}", f"--output {output}"])
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; {report} {writes}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3 and "File too large" in done.stderr, (done.returncode, done.stderr)
    output.unlink(missing_ok=True)


@fault(
    "command",
    "`ridgeline profile` is killed",
    "the command ends with it; the next one removes the folder that it left",
)
def killed_wrapper(world: World, random: Random) -> None:
    del random
    mark = f"mark-{uuid.uuid4()}"
    script = "import time; print('running', flush=True); time.sleep(600)"
    command = [BINARY, "profile", "--", sys.executable, "-c", script]
    environment = environment_of(world, MINE=mark)
    before = set(world.temporary.iterdir())
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None and running.stdout.readline()
        running.kill()
    assert_all_gone(mark)
    (left,) = set(world.temporary.iterdir()) - before
    recent = world.temporary / "ridgeline-abcdef"  # without a socket: not of a run
    recent.mkdir()
    os.utime(left, (1_700_000_000, 1_700_000_000))
    assert run(world, "profile", "--", "true").returncode == 0
    assert set(world.temporary.iterdir()) - before == {recent}
    recent.rmdir()
