"""FLOPs of operations by their keys are those that torch counts, on operations of the examples' steps.

`ridgeline_work_probe` (tests/unit/operations/device/work_probe.cpp) says what the layer finds in a key.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from conftest import BINARY, ROOT

sys.path.insert(0, str(ROOT / "profiler" / "runner"))

import torch  # noqa: E402
from ridgeline_runner.changes import built_in  # noqa: E402
from ridgeline_runner.measure import operation_key  # noqa: E402
from ridgeline_runner.measure.operation_key import Call, key_of, operator_named  # noqa: E402
from ridgeline_runner.step import operation_log  # noqa: E402
from ridgeline_runner.step.entry import EntryPoint, load  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode, flop_registry  # noqa: E402

PROBE = BINARY.parent / "ridgeline_work_probe"
EXAMPLES = ["mlp", "dcgan", "gpt", "densenet121", "gnmt", "efficientdet", "maskrcnn", "minigo", "scheduled_sampling"]
# Not modelled: nothing is computed or moved by these, or too little to matter; or data decides which parts of their
# tensors they touch.
LEFT_OUT = {
    "gather",
    "scatter_",
    "scatter_add",
    "index",
    "grid_sampler_2d",
    "grid_sampler_2d_backward",
    "arange",
    "_local_scalar_dense",
    "scalar_tensor",
    "bernoulli_",
    "randn",
    "rand",
    "_is_all_true",
    "multinomial",
}


def probe(keys: list[str]) -> list[list[str]]:
    done = subprocess.run([PROBE], input="\n".join(keys) + "\n", capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def keys_of_example(name: str) -> list[str]:
    folder = ROOT / "examples" / name
    entry = EntryPoint.of(load(str(folder / "entry.py"), str(folder)), str(folder / "entry.py"))
    parts = built_in.build(entry, [], entry.batch_size)
    return list(operation_log.log_step(lambda: parts.function(*parts.inputs), {}).keys)


def counted_by_torch(key: str) -> int:
    """Without computing it: its tensors have shapes alone."""
    call = Call(re.sub(r'"(t:[^"]*)"', r'"\1:meta"', key))
    with FlopCounterMode(display=False) as counter:
        call.run()
    return counter.get_total_flops()


def is_counted(key: str) -> bool:
    """By torch, and rightly: not the gradient of a weight with groups, of which the last test is."""
    name, arguments = json.loads(key)[:2]
    has_groups = name.startswith("aten::convolution_backward") and arguments[9] != 1
    return operator_named(name).overloadpacket in flop_registry and not has_groups


@pytest.mark.parametrize("name", EXAMPLES)
def test_flops_are_those_that_torch_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / name))
    keys = keys_of_example(name)
    found = probe(keys)
    matrices = [(key, work) for key, work in zip(keys, found, strict=True) if is_counted(key)]
    assert matrices
    monkeypatch.setattr(
        operation_key, "_filled", lambda count, dtype, _, device: torch.empty(count, dtype=dtype, device=device)
    )
    for key, (kind, flops, *_) in matrices:
        assert (kind, int(flops)) == ("matrix", counted_by_torch(key)), key
    unknown = {json.loads(key)[0] for key, work in zip(keys, found, strict=True) if work == ["-"]}
    assert {name.split("::")[1].split(".")[0] for name in unknown} <= LEFT_OUT


def test_torch_counts_a_group_of_a_weight_gradient_as_if_it_had_all_inputs() -> None:
    gradient, image, weight = torch.randn(2, 8, 5, 5), torch.randn(2, 8, 5, 5), torch.randn(8, 2, 3, 3)
    args = (gradient, image, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)
    for mask, factor in (([True, False, False], 1), ([False, True, False], 4)):
        key = key_of(torch.ops.aten.convolution_backward.default, (*args, mask), {})
        ((_, flops, *_),) = probe([key])
        assert counted_by_torch(key) == factor * int(flops)
