"""Times an operator that `ridgeline kernel --of` emitted, in turns with torch's operation of a recorded step.

The daemon runs this file in the user's interpreter, as a process of its own: an operator that crashes ends nothing
else. It writes one line of JSON, with times in nanoseconds, or the problem.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from ridgeline_runner.common import timing
from ridgeline_runner.measure.kernels import by_turns
from ridgeline_runner.measure.operation_key import Call

_FUNCTIONS = ("product", "linear", "conv", "elementwise", "reduce")  # that modules define, one each


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--module", type=Path, required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--operands", type=json.loads, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    os.environ["CXX"] = options.compiler
    try:
        found = _times(_loaded(options.module), Call(options.key), options)
    except Exception as error:  # noqa: BLE001 - whatever a compiler or torch has against it
        found = {"problem": f"{type(error).__name__}: {error}".splitlines()[0]}
    print(json.dumps(found), flush=True)


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("emitted", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _times(module: Any, call: Call, options: argparse.Namespace) -> dict[str, Any]:
    import torch

    with torch.no_grad():
        expected = call.run()
        own = _own(module, [call.args[i] for i in options.operands], expected.shape)
        largest = expected.abs().max().item()
        if not torch.allclose(own(), expected, rtol=1e-4, atol=1e-5 * largest):
            return {"problem": "its result differs from torch's"}
        library_ns, own_ns = by_turns([call.run, own], 2 * options.seconds)
    ratio, low, high = interval([a / b for a, b in zip(own_ns, library_ns, strict=True)])
    medians = {"libraryNs": timing.median(library_ns), "ownNs": timing.median(own_ns)}
    return {"torch": torch.__version__, **medians, "ratio": ratio, "low": low, "high": high}


def _own(module: Any, operands: list[Any], shape: Any) -> Callable[[], Any]:
    """As a user calls it: with operands and a result in the dimensions of a matrix where the operator has these."""
    name = next(name for name in _FUNCTIONS if hasattr(module, name))
    function = getattr(module, name)
    if name == "linear":
        operands[1] = operands[1].t()  # the weight as a layer stores it
    shapes = getattr(module, "_SHAPES", None)
    if shapes is None or all(each.shape == size for each, size in zip(operands, shapes, strict=True)):
        return lambda: function(*operands).reshape(shape)
    return lambda: function(*(each.reshape(size) for each, size in zip(operands, shapes, strict=True))).reshape(shape)


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median with its interval of 95 %; of fewer than six values, their range."""
    ordered = sorted(values)
    low, high = timing.median_interval_ranks(len(ordered)) or (0, len(ordered) - 1)
    return timing.median(ordered), ordered[low], ordered[high]


if __name__ == "__main__":
    main()
