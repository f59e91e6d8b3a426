"""This interpreter and its torch, as the daemon has to know them, and the agent that was built for them."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import platform
import sys
import sysconfig
from collections.abc import Iterator
from typing import Any

from ridgeline_runner.machine.energy import powercap_root, processor_counters

_THREAD_PREFIXES = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "VECLIB_")
_MOST_SETTINGS = 32
_MOST_OF_SETTING = 256  # characters


def environment() -> dict[str, Any]:
    """What the daemon needs to know of this interpreter. Raises ImportError when there is no torch."""
    with collector_paused():
        import torch

    torch_folder = os.path.dirname(torch.__file__)
    headers = os.path.join(torch_folder, "include")
    python_headers = sysconfig.get_paths()["include"]
    counters = processor_counters(powercap_root())
    return {
        "python": platform.python_version(),
        "pythonMinor": sys.version_info.minor,
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "torch": str(torch.__version__),
        "cxx11Abi": bool(torch.compiled_with_cxx11_abi()),
        "pythonTag": sysconfig.get_config_var("SOABI") or "",
        "includeDirs": [headers, os.path.join(headers, "torch", "csrc", "api", "include"), python_headers],
        "libraryDirs": [os.path.join(torch_folder, "lib")],
        "environmentRoots": sorted({os.path.realpath(p) for p in _environment_roots()}),
        "energyCounters": [counter.name for counter in counters.found],
        "energyProblem": " ".join(counters.problems),
    }


def thread_settings() -> list[str]:
    """What the environment tells OpenMP, MKL and their like, as "NAME=value": how threads wait and where they run
    changes the time of a step, even where as many of them compute."""
    settings = [f"{name}={value}" for name, value in os.environ.items() if name.startswith(_THREAD_PREFIXES)]
    return sorted(setting for setting in settings if len(setting) <= _MOST_OF_SETTING)[:_MOST_SETTINGS]


def _environment_roots() -> list[str]:
    paths = sysconfig.get_paths()
    runner = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [sys.prefix, sys.base_prefix, paths["stdlib"], paths["purelib"], paths["platlib"], runner]


def load_agent(path: str) -> Any:
    """Imports the agent from the file; raises ImportError when it is not for this process."""
    spec = importlib.util.spec_from_file_location("_ridgeline_agent", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["_ridgeline_agent"] = module
    return module


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection while a large library is imported: it would visit all modules again and again, for a fifth
    of the time, and find a megabyte."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
