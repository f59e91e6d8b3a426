"""What the tests of devices share: fakes of CUDA's libraries behind LibTorch, and recordings with one."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recordings import Recording


def built_for_torch(source: str, folder: Path, environment: dict[str, Any]) -> ctypes.PyDLL:
    """A source of this folder as a library, built in `folder` for the torch that `environment` describes."""
    path = Path(__file__).parent / source
    built = folder / f"lib{path.stem}.so"
    flags = [f"-isystem{folder}" for folder in environment["includeDirs"]]
    flags += [f"-D_GLIBCXX_USE_CXX11_ABI={int(environment['cxx11Abi'])}"]
    libraries = [f"-L{folder}" for folder in environment["libraryDirs"]] + ["-lc10"]
    subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", *flags, "-o", built, path, *libraries], check=True)
    return ctypes.PyDLL(str(built))


def recorded(
    module: Any, step: Callable[[], Any], iterations: int = 1, synchronise: Callable[[], None] = lambda: None
) -> Recording:
    """Iterations of a step as the runner records them: the device is idle at both ends."""
    assert module.begin() == ""
    for _ in range(iterations):
        synchronise()
        module.iteration_begin()
        step()
        synchronise()
        module.iteration_end()
    module.end()
    return Recording(module.finish([("", "", "", 0)] * len(module.instances())))
