"""The operations of a step, listed without computing them, are those that run when it is computed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import time
import types
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "profiler" / "runner"))

import torch  # noqa: E402
from ridgeline_runner.changes import built_in  # noqa: E402
from ridgeline_runner.changes.change import NotApplicable  # noqa: E402
from ridgeline_runner.cuda import operators  # noqa: E402
from ridgeline_runner.measure import operation_times  # noqa: E402
from ridgeline_runner.measure.operation_key import Call, NotDescribed, bytes_of, key_of  # noqa: E402
from ridgeline_runner.measure.operation_times import measure  # noqa: E402
from ridgeline_runner.step import operation_log  # noqa: E402
from ridgeline_runner.step.entry import EntryPoint, load  # noqa: E402
from ridgeline_runner.step.step_listing import OwnStep  # noqa: E402
from torch import nn  # noqa: E402
from torch.optim.optimizer import register_optimizer_step_post_hook  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402


def training_step(model: nn.Module, inputs: torch.Tensor, optimizer_class: type = torch.optim.Adam):
    optimizer = optimizer_class(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()

    return step


class Transposed(nn.Sequential):
    """Takes sequences (N, length, channels)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.transpose(1, 2))


class Lstm(nn.LSTM):
    """Its output alone."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x)[0]


class Recurrent(nn.GRU):
    """Its output alone, which torch transposes in place."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x)[0]


STEPS = {
    "convolutions": lambda: training_step(
        nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3600, 8)
        ),
        torch.randn(4, 3, 32, 32),
    ),
    # Weights decide the format where inputs do not.
    "channels-last": lambda: training_step(
        nn.Sequential(
            nn.Conv2d(4, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 8, 3, groups=2), nn.MaxPool2d(2)
        ).to(memory_format=torch.channels_last),
        torch.randn(4, 4, 32, 32),
    ),
    # Normalisation makes its input contiguous.
    "transposed": lambda: training_step(
        Transposed(nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 8, 3)), torch.randn(8, 50, 16)
    ),
    "attention": lambda: training_step(
        nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), torch.randn(8, 32, 64), torch.optim.SGD
    ),
    "recurrent": lambda: training_step(Recurrent(64, 64, batch_first=True), torch.randn(8, 20, 64)),
    # Whose backward works on memory of oneDNN's own.
    "lstm": lambda: training_step(Lstm(32, 48, 2, batch_first=True, bidirectional=True), torch.randn(8, 20, 32)),
    "embedding": lambda: training_step(
        nn.Sequential(nn.Embedding(5000, 64), nn.Linear(64, 64)), torch.randint(0, 5000, (64, 32))
    ),
}


def sequence(log: operation_log.OperationLog) -> list[tuple[str, int, str]]:
    keys, modules = [*log.keys, "?"], list(log.modules)
    return [(keys[key], phase, modules[module]) for key, _, phase, module in log.sequence]


@pytest.mark.parametrize("name", STEPS)
def test_an_uncomputed_step_has_the_operations_of_a_computed_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    listed = operation_log.log_step(STEPS[name](), {})
    monkeypatch.setattr(operation_log, "_uncomputed", lambda func, args, kwargs: (func(*args, **kwargs), True))
    torch.manual_seed(0)
    computed = operation_log.log_step(STEPS[name](), {})
    assert sequence(listed) == sequence(computed)
    assert {phase for _, phase, _ in sequence(listed)} == {0, 1, 2}


class Tied(nn.Module):
    """A language model whose weight has two gradients, and whose layer takes transposed inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(500, 64)
        self.layer = nn.Linear(64, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        layer = self.layer(x.transpose(0, 1)).transpose(0, 1)
        return nn.functional.linear((x + layer.relu()).exp(), self.embedding.weight).flatten(0, 1)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("computed", [False, True])
def test_sums_are_in_place_where_they_are_without_the_list(autocast: bool, computed: bool) -> None:
    model, tokens = Tied(), torch.randint(500, (8, 12))

    def step() -> None:
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = nn.functional.cross_entropy(model(tokens), tokens.flatten())
        loss.backward()

    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        step()
    real = Counter(
        (event.name, tuple(event.input_shapes[0]))
        for event in profiler.events()
        if event.name in ("aten::add", "aten::add_")
    )
    log = operation_log.OperationLog()
    if computed:
        gradients = [parameter.grad.clone() for parameter in model.parameters()]
        log = operation_log.log_warm_step(step, lambda: None)
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            torch.testing.assert_close(parameter.grad, gradient)
    else:
        log = operation_log.log_step(step, {})
    keys, names = list(log.keys), list(log.names)
    listed = Counter(
        (names[name], tuple(map(int, json.loads(keys[key])[1][0].split(":")[2].split(","))))
        for key, name, *_ in log.sequence
        if names[name] in ("aten::add", "aten::add_")
    )
    assert listed == real
    assert listed["aten::add_", (12, 8, 64)] == 1
    assert listed["aten::add_" if autocast else "aten::add", (500, 64)] == 1


def test_modules_and_phases_are_named() -> None:
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8))
    names = {id(module): path for path, module in model.named_modules()}
    log = operation_log.log_step(training_step(model, torch.randn(64, 64)), names)
    forward = {module for key, phase, module in sequence(log) if phase == operation_log.FORWARD and "addmm" in key}
    assert forward == {"0", "2"}


def test_a_step_without_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_log, "MAX_OPERATIONS", 10)
    with pytest.raises(operation_log.TooManyOperations):
        operation_log.log_step(STEPS["convolutions"](), {})


def test_keys_describe_what_the_time_depends_on() -> None:
    add = torch.ops.aten.add.Tensor
    one, other = torch.randn(4, 8), torch.randn(8)
    assert key_of(add, (one, other), {}) == '["aten::add.Tensor",["t:float32:4,8:8,1","t:float32:8:1"],{}]'
    # The number that scales does not matter, whether it is 0 or 1 may.
    assert key_of(add, (one, other), {"alpha": 0.123}) == key_of(add, (one, other), {"alpha": 0.0456})
    assert key_of(add, (one, other), {"alpha": 1.0}) != key_of(add, (one, other), {"alpha": 0.5})
    with pytest.raises(NotDescribed):
        key_of(add, (one.to_sparse(), other), {})


@pytest.mark.parametrize(
    ("operator", "args"),
    [
        (torch.ops.aten.mm.default, (torch.randn(4, 8).t(), torch.randn(4, 3))),
        (torch.ops.aten.embedding.default, (torch.randn(100, 4), torch.randint(0, 100, (5, 6)))),
        (torch.ops.aten._foreach_add.Scalar, ([torch.randn(3), torch.randn(4)], 1.0)),
        (torch.ops.aten._to_copy.default, (torch.randn(3),)),
        (torch.ops.aten.sum.dim_IntList, (torch.randn(3, 4, dtype=torch.bfloat16).expand(2, 3, 4), [0, 2])),
    ],
)
def test_a_call_is_made_again_from_its_key(operator, args) -> None:
    kwargs = {"dtype": torch.bfloat16} if "_to_copy" in str(operator) else {}
    key = key_of(operator, args, kwargs)
    call = Call(key)
    made, original = call.run(), operator(*args, **kwargs)
    for a, b in zip(torch.utils._pytree.tree_leaves(made), torch.utils._pytree.tree_leaves(original), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert key_of(operator, call.args, call.kwargs) == key
    assert bytes_of(key) > 0


def test_the_backward_of_a_recurrent_layer_is_measured() -> None:
    keys = [key for key in operation_log.log_step(STEPS["lstm"](), {}).keys if "rnn_layer" in key]
    assert any("backward" in key for key in keys)
    found: dict[int, dict] = {}
    measure(keys, 1 << 30, 20, begin=lambda _: None, send=found.__setitem__)
    assert all(found[index].get("samplesNs") for index in range(len(keys))), found


def test_what_cannot_be_measured_says_why() -> None:
    keys = [
        key_of(torch.ops.aten.mm.default, (torch.randn(4, 8), torch.randn(8, 4)), {}),
        '["aten::mm.default",["t:float32:4,8:8,1","t:float32:5,4:4,1"],{}]',
        '["aten::no_such_operation.default",[],{}]',
        '["aten::_thnn_fused_lstm_cell_backward.default",["t:float32:4,8:8,1"],{}]',
        '["aten::mm.default",["t:float32:100000,100000:100000,1","t:float32:100000,4:4,1"],{}]',
    ]
    begun: list[int] = []
    found: dict[int, dict] = {}
    measure(keys, 1 << 30, 20, begin=begun.append, send=found.__setitem__)
    assert len(found[0]["samplesNs"]) >= 3
    assert all(ns > 0 for ns in found[0]["samplesNs"])
    assert all("reason" in found[index] for index in (1, 2, 3, 4))
    assert "memory" in found[4]["reason"]
    assert begun == [0, 1, 2]


@pytest.mark.parametrize("busy_loops, disturbed", [(0, False), (20, False), (10**9, True)])
def test_a_loop_that_was_preempted_is_tried_again(
    busy_loops: int, disturbed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_of(torch.ops.aten.mm.default, (torch.randn(4, 8), torch.randn(8, 4)), {})
    asked = itertools.count()  # once before a loop and once after it
    preempted = lambda _: types.SimpleNamespace(ru_nivcsw=min(next(asked), 2 * busy_loops))  # noqa: E731
    monkeypatch.setattr(operation_times.resource, "getrusage", preempted)
    found: dict[int, dict] = {}
    measure([key], 1 << 30, 20, begin=lambda _: None, send=found.__setitem__)
    assert found[0]["disturbed"] == disturbed
    assert len(found[0]["samplesNs"]) >= 3
    loops = next(asked) // 2
    assert busy_loops < loops < busy_loops + 10 or (disturbed and loops < 50)


def test_changes_apply_to_a_step_that_is_built_anew() -> None:
    path = str(ROOT / "examples" / "mlp" / "entry.py")
    entry = EntryPoint.of(load(path, str(ROOT / "examples" / "mlp")), path)

    def operations(*requests: str) -> list[str]:
        parts = built_in.build(entry, list(requests), entry.batch_size)
        with parts.surroundings():
            log = operation_log.log_step(lambda: parts.function(*parts.inputs), {})
        names = list(log.names)
        return [names[name] for _, name, _, _ in log.sequence]

    usual = operations()
    assert any("_to_copy" in name for name in operations("bf16-autocast"))
    assert "aten::_fused_adam_" in operations("fused-optimizer") or "aten::_fused_sgd_" in operations("fused-optimizer")
    assert len(operations("accumulate:2")) > 1.3 * len(usual)
    assert operations("threads:1") == usual
    with pytest.raises(NotApplicable):
        built_in.build(entry, ["channels-last"], entry.batch_size)
    assert operations() == usual  # nothing of a change stays


def test_parts_of_a_batch_step_the_optimizer_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a scheduler has replaced the optimizer's method, as those of torch do."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "accumulated_entry.py"
    path.write_text(
        """
import torch

steps = []
zeroed = []


class Counted(torch.optim.SGD):
    def step(self, closure=None):
        steps.append([p.grad.clone() for p in self.param_groups[0]["params"]])
        return super().step(closure)

    def zero_grad(self, set_to_none=True):
        zeroed.append(1)
        super().zero_grad(set_to_none)


def model_provider():
    return torch.nn.Linear(4, 1, bias=False)


def input_provider(batch_size=6):
    return (torch.ones(batch_size, 4),)


def iteration_provider(model):
    optimizer = Counted(model.parameters(), lr=0.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

    def iteration(inputs):
        optimizer.zero_grad()
        model(inputs).sum().backward()
        optimizer.step()
        scheduler.step()

    return iteration
""",
        encoding="utf-8",
    )
    entry = EntryPoint.of(load(str(path), str(tmp_path)), str(path))
    parts = built_in.build(entry, ["accumulate:3"], entry.batch_size)
    assert parts.batch_size == 2 and parts.samples == 6
    for _ in range(2):
        parts.function(*parts.inputs)
    counted = sys.modules["accumulated_entry"]
    assert len(counted.steps) == 2 and len(counted.zeroed) == 2
    assert torch.equal(counted.steps[1][0], torch.full((1, 4), 6.0))  # of all samples


def test_the_time_between_operations_is_that_of_python() -> None:
    value = torch.ones(64)
    slept = 0.02

    def step() -> None:
        value.add_(1)
        time.sleep(slept)
        value.mul_(2)
        value.add_(1)

    times = operation_log.host_times(step, 3)
    assert len(times) == 3
    assert times[1] > slept * 1e9 > 10 * max(times[0], times[2])
    assert operation_log.host_times(step, 4) == []


def test_page_faults_are_those_of_results_that_use_memory_first() -> None:
    large = torch.ones(30 << 20)
    small = torch.ones(64)

    def step() -> None:
        product = large * 2  # 120 MiB, which the C library gets from the kernel and gives back each time
        large.add_(1)
        product.view(-1)
        small.mul_(2)

    times = operation_log.page_fault_times(step, 4)
    assert len(times) == 4
    assert times[0] > 1_000_000 and times[1:] == [0, 0, 0]
    assert torch.equal(large, torch.ones(30 << 20)), "what has data keeps it"
    assert operation_log.page_fault_times(step, 5) == []


def listed_in_place(step) -> dict:
    """Lists a step that a script takes by itself."""
    own = OwnStep()
    own.begin()
    step()
    return own.end()


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_is_listed_computes_what_it_always_does(name: str) -> None:
    weights, listed = [], {}
    for lists in (False, True):
        torch.manual_seed(0)
        kept: list[torch.Tensor] = []
        step = STEPS[name]()
        handle = register_optimizer_step_post_hook(
            lambda optimizer, *_, kept=kept: kept.extend(p for g in optimizer.param_groups for p in g["params"])
        )
        step()
        if lists:
            listed = listed_in_place(step)
        else:
            step()
        step()
        handle.remove()
        weights.append([each.detach().clone() for each in kept])
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))
    assert {"aten::pow", "aten::mean"} <= set(listed["operations"]["names"])


def test_modes_of_the_script_stay_as_they_are() -> None:
    inner = FlopCounterMode(display=False)
    model = nn.Linear(8, 8)

    def step() -> None:
        model(torch.ones(2, 8))
        inner.__enter__()

    assert listed_in_place(step)["operations"]["names"]
    assert torch._C._len_torch_dispatch_stack() == 1
    model(torch.ones(2, 8))
    reason = listed_in_place(lambda: None)["reason"]
    inner.__exit__(None, None, None)
    assert inner.get_total_flops() == 2 * 2 * 8 * 8
    assert "TorchDispatchMode" in reason
    assert torch._C._len_torch_dispatch_stack() == 0


def test_a_forked_process_lists_nothing() -> None:
    def step() -> None:
        child = os.fork()
        if child == 0:
            os._exit(torch._C._len_torch_dispatch_stack())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        torch.ones(2).add(1)

    assert "aten::add" in listed_in_place(step)["operations"]["names"]


def test_what_cannot_be_listed_does_not_raise_into_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_log, "MAX_OPERATIONS", 1)
    model = nn.Linear(8, 8)
    assert listed_in_place(lambda: model(torch.ones(2, 8)))["reason"]


class Attentive(nn.Module):
    """Attention, dropout and batch normalisation, which are other operators on CUDA devices."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, dropout=0.1, batch_first=True)
        self.norm = nn.BatchNorm1d(32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.attention(x, x, x, need_weights=False)[0])


def test_a_step_on_the_host_is_listed_with_the_operators_of_a_cuda_device() -> None:
    model = Attentive()
    step = training_step(model, torch.randn(8, 32, 64))

    def names(around: contextlib.AbstractContextManager[None]) -> list[str]:
        with around:
            log = operation_log.log_step(step, {})
        return sorted(list(log.names)[name].removeprefix("aten::") for _, name, *_ in log.sequence)

    here, there = names(contextlib.nullcontext()), names(operators.chosen())
    only_there = {"cudnn_batch_norm", "_scaled_dot_product_efficient_attention"}
    for name in (*only_there, *(name + "_backward" for name in only_there)):
        assert name not in here and there.count(name) == 1
    assert "native_batch_norm" in here and "native_batch_norm" not in there
    assert "bernoulli_" in here and "bernoulli_" not in there
    parameters = len(list(model.parameters()))
    assert here.count("addcdiv_") == parameters and there.count("_foreach_addcdiv_") == 1
    assert names(contextlib.nullcontext()) == here
    assert set(nn.functional.dropout(torch.ones(1000), 0.5).tolist()) == {0.0, 2.0}  # computed again


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_attention_of_a_cuda_device_depends_on_the_type(dtype: str) -> None:
    q = torch.randn(2, 4, 64, 32, dtype=getattr(torch, dtype), requires_grad=True)

    def step(mask: torch.Tensor | None = None) -> None:
        nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask).sum().backward()

    def attention(mask: torch.Tensor | None = None) -> set[str]:
        with operators.chosen():
            log = operation_log.log_step(lambda: step(mask), {})
        return {name.removeprefix("aten::_scaled_dot_product_") for name in log.names if "scaled_dot" in name}

    kind = {"float32": "efficient", "bfloat16": "flash", "float64": ""}[dtype]
    assert attention() == ({f"{kind}_attention", f"{kind}_attention_backward"} if kind else set())
    masked = attention(torch.ones(64, 64, dtype=torch.bool))
    assert masked == ({"efficient_attention", "efficient_attention_backward"} if kind else set())
