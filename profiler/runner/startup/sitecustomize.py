"""Python imports this at the start of every process of a job that `ridgeline profile` has started.

It only waits for torch: a process that never imports it pays for one look at each import. Then, and at any failure, the
process goes on as if this file were not there; a `sitecustomize` of the user's, which this one hides, is run.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_hidden() -> None:
    """Runs the module that would have been imported in place of this one."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


class _TorchFinder:
    """Finds torch where it is, and has the recording begin once it is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    """Another loader, and what follows it."""

    def __init__(self, loader) -> None:
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module) -> None:
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _join()


def _of_runner(name):
    """A module of the runner."""
    sys.path.insert(0, os.path.dirname(_HERE))
    try:
        return importlib.import_module("ridgeline_runner." + name)
    finally:
        sys.path.pop(0)


def _join() -> None:
    if os.environ.get("RIDGELINE_JOB_DEVICE") == "cpu":
        _of_runner("cuda.cpu_for_cuda").install()
    _of_runner("script.run").join(os.environ.get("RIDGELINE_JOB", ""))


if os.path.exists(os.environ.get("RIDGELINE_JOB", "")):
    sys.meta_path.insert(0, _TorchFinder())
_run_hidden()
