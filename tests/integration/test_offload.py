"""The change `offload`: what backward needs of a module is in the host's memory meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from block_entries import entry_of_blocks
from conftest import ROOT

sys.path.insert(0, str(ROOT / "profiler" / "runner"))

import torch  # noqa: E402
from ridgeline_runner.changes import built_in, offload  # noqa: E402
from ridgeline_runner.changes.change import NotApplicable, Way  # noqa: E402
from ridgeline_runner.machine.machine_limits import MachineLimits  # noqa: E402
from ridgeline_runner.measure.operation_key import Call, key_of  # noqa: E402
from ridgeline_runner.step import operation_log  # noqa: E402
from ridgeline_runner.step.entry import EntryPoint, load  # noqa: E402


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EntryPoint:
    path = tmp_path / f"entry_{tmp_path.name.replace('-', '_')}.py"
    path.write_text(entry_of_blocks([256, 128]))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    return EntryPoint.of(load(str(path), str(tmp_path)), str(path))


def operations(entry: EntryPoint, *requests: str) -> list[str]:
    parts = built_in.build(entry, list(requests), entry.batch_size, Way.LISTED_FOR_CUDA)
    log = operation_log.log_step(lambda: parts.function(*parts.inputs), {})
    keys = list(log.keys)
    return [keys[key] for key, _, _, _ in log.sequence if key >= 0]


def test_each_saved_tensor_is_copied_to_the_host_and_back(entry: EntryPoint) -> None:
    keys = operations(entry, "offload:blocks.0")
    out = [key for key in keys if key.startswith('["aten::copy_.default"')]
    back = [key for key in keys if key.startswith('["aten::_to_copy.default"')]
    # Both layers' inputs and the second one's weight, what relu returns, and what square gets.
    assert len(out) == len(back) == 5
    assert all(key.count(":pinned") == 1 for key in out + back)
    assert sum("t:float32:64,256:256,1" in key for key in out) == 3
    assert not any(":pinned" in key for key in operations(entry))
    assert len(operations(entry, "offload:blocks.0..1")) - len(operations(entry)) > 2 * len(out)


def test_small_tensors_keep_their_data() -> None:
    """How many elements of the gradient are chosen in backward depends on it."""
    layer, chosen = torch.nn.Linear(64, 64), torch.arange(64) % 3 == 0
    changed = offload.offloaded(lambda x: layer(x)[:, chosen], "cuda", is_run=False)
    shapes = []

    def step() -> None:
        out = changed(torch.ones(128, 64))
        shapes.append(out.shape)
        out.sum().backward()

    operation_log.run_uncomputed(step)
    assert shapes == [(128, 22)] and layer.weight.grad.shape == (64, 64)


def test_a_step_on_the_host_has_nothing_to_offload(entry: EntryPoint) -> None:
    for way in (Way.RUN, Way.LISTED):
        with pytest.raises(NotApplicable, match="the model is on the CPU"):
            built_in.build(entry, ["offload"], entry.batch_size, way)


def test_gradients_are_those_of_the_step_without_it() -> None:
    torch.manual_seed(5)
    layer, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    layer(x).relu().square().sum().backward()
    usual = layer.weight.grad.clone()
    layer.zero_grad()
    changed = offload.offloaded(lambda value: layer(value).relu().square(), "cuda", is_run=True)
    changed(x).sum().backward()
    assert torch.equal(layer.weight.grad, usual)


def test_it_ends_before_the_host_has_no_memory_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "machine_limits", lambda: MachineLimits(8 << 30, 1 << 30, None))
    layer = torch.nn.Linear(8, 8)
    changed = offload.offloaded(layer.forward, "cuda", is_run=True)
    with pytest.raises(NotApplicable, match="the host has too little memory left"):
        changed(torch.randn(4, 8))


def test_a_copy_is_listed_where_it_goes() -> None:
    seen = []
    x = torch.ones(100, 100)
    operation_log.run_uncomputed(lambda: seen.append(x.to("meta")))
    assert seen[0].is_meta
    back = torch.empty(100, 100, device="meta")
    operation_log.run_uncomputed(lambda: seen.append(back.to("cpu")))
    assert seen[1].device.type == "cpu" and seen[1].shape == (100, 100)


def test_keys_say_what_is_in_pinned_memory() -> None:
    there, here = torch.empty(4, 3, device="meta"), torch.ones(4, 3)
    key = key_of(torch.ops.aten.copy_.default, (there, here), {})
    assert key == '["aten::copy_.default",["t:float32:4,3:3,1:pinned","t:float32:4,3:3,1"],{}]'
    assert key_of(torch.ops.aten._to_copy.default, (there,), {"device": torch.device("meta")}).endswith(
        '{"device":"v:device:cpu"}]'
    )
    assert Call('["aten::add.Tensor",["t:float32:4,3:3,1","t:float32:4,3:3,1"],{}]').run().shape == (4, 3)
