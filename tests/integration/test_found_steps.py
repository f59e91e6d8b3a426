"""How the runner finds the steps of scripts, without the agent: each script runs in a fork of this process."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from found_steps import found, messages_of
from ridgeline_runner.script.hand_updates import find_runs
from training_scripts import write

BEGIN = """
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
def batch(n=8):
    return torch.randn(n, 16), torch.randint(0, 4, (n,))
def loss_of(n=8):
    x, y = batch(n)
    return F.cross_entropy(model(x), y)
"""

# The updates change no version counter, or no tensor that was there before.
BY_HAND = {
    ".data": """
        for _ in range(3000):
            model.zero_grad()
            loss_of().backward()
            for p in model.parameters(): p.data.add_(p.grad, alpha=-0.1)
    """,
    "gradients that are returned": """
        for _ in range(3000):
            gradients = torch.autograd.grad(loss_of(), list(model.parameters()))
            with torch.no_grad():
                for p, g in zip(model.parameters(), gradients): p -= 0.1 * g
    """,
    "a function": """
        def train():
            for _ in range(3000):
                model.zero_grad()
                loss_of().backward()
                update()
        def update():
            with torch.no_grad():
                for p in model.parameters(): p -= 0.1 * p.grad
        train()
    """,
    "no modules": """
        w = torch.zeros(16, 4)
        for _ in range(3000):
            w.requires_grad_()
            x, y = batch()
            g, = torch.autograd.grad(F.cross_entropy(x @ w, y), w)
            w = (w - 0.1 * g).detach()
    """,
    "torch.func": """
        from torch.func import functional_call, grad
        parameters = {k: v.detach() for k, v in model.named_parameters()}
        def loss(p, x, y): return F.cross_entropy(functional_call(model, p, (x,)), y)
        for _ in range(3000):
            gradients = grad(loss)(parameters, *batch())
            parameters = {k: v - 0.1 * gradients[k] for k, v in parameters.items()}
    """,
    "adversarial inputs": """
        for _ in range(3000):
            x, y = batch()
            d = torch.zeros_like(x)
            for _ in range(3):
                d.requires_grad_()
                g, = torch.autograd.grad(F.cross_entropy(model(x + d), y), d)
                d = (d + 0.1 * g.sign()).detach()
            model.zero_grad()
            F.cross_entropy(model(x + d), y).backward()
            for p in model.parameters(): p.data -= 0.1 * p.grad
    """,
    "an optimizer of one's own": """
        class Signs:
            def step(self):
                for p in model.parameters(): p.data -= 1e-3 * p.grad.sign()
        optimizer = Signs()
        for _ in range(100):
            for x, y in DataLoader(TensorDataset(*batch(320)), batch_size=8):
                model.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
    """,
}


def script_of(tmp_path: Path, text: str) -> Path:
    script = write(tmp_path, text)
    script.write_text(BEGIN + script.read_text())
    return script


@pytest.mark.parametrize("text", BY_HAND.values(), ids=BY_HAND.keys())
def test_weights_that_are_updated_by_hand(tmp_path: Path, text: str) -> None:
    result = found(script_of(tmp_path, text))
    assert result["type"] == "result", result
    assert result["script"]["boundary"]["kind"] == "weightUpdate"


def test_optimizers_in_hooks_of_parameters_are_one_step(tmp_path: Path) -> None:
    result = found(
        script_of(
            tmp_path,
            """
            optimizers = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}
            def hook(p):
                optimizers[p].step()
                optimizers[p].zero_grad()
            for p in model.parameters(): p.register_post_accumulate_grad_hook(hook)
            for _ in range(3000): loss_of().backward()
            """,
        )
    )
    assert result["script"]["boundary"]["kind"] == "backward"
    assert not [one for one in result["warnings"] if "ended early" in one]


def test_calls_of_modules_are_not_watched_while_steps_are_timed(tmp_path: Path) -> None:
    text = """
    watched = []
    try:
        for _ in range(3000):
            watched.append(torch.nn.Module.__call__ is not torch.nn.Module._wrapped_call_impl)
            model.zero_grad()
            loss_of().backward()
            for p in model.parameters(): p.data.add_(p.grad, alpha=-0.1)
    finally:
        print(*watched[-5:], file=open(__file__ + ".watched", "w"))
    """
    script = write(tmp_path, BEGIN + textwrap.dedent(text))
    found_samples = found(script)["script"]["samples"]
    assert (found_samples["least"], found_samples["most"]) == (8, 8)
    assert set(script.with_name(script.name + ".watched").read_text().split()) == {"False"}


def test_the_closure_of_an_optimizer_updates_nothing_by_hand(tmp_path: Path) -> None:
    result = found(
        script_of(
            tmp_path,
            """
            optimizer = torch.optim.LBFGS(model.parameters(), max_iter=8)
            x, y = batch()
            def closure():
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                return loss
            for _ in range(300): optimizer.step(closure)
            """,
        )
    )
    assert result["script"]["boundary"]["kind"] == "optimizer"


def test_steps_whose_closure_ran_otherwise_than_in_the_recorded_ones_are_not_their_time(tmp_path: Path) -> None:
    """As those of L-BFGS once it has converged. The runs of steps whose number is a multiple of 3 differ while steps
    are timed."""
    script = script_of(
        tmp_path,
        """
        class Repeating(torch.optim.SGD):
            def step(self, closure):
                for _ in range(self.runs): closure()
                super().step()
        optimizer = Repeating(model.parameters(), lr=1e-3)
        x, y = batch()
        def closure():
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
        for step in range(3000):
            optimizer.runs = 1 if step > 60 and step % 3 == 0 else 6 + step % 2
            optimizer.step(closure)
        """,
    )
    messages = messages_of(script)
    result = messages[-1]
    left_out = {one["reason"]: one["count"] for one in result["script"]["leftOut"]}
    (reason,) = (reason for reason in left_out if "closure" in reason)
    timed = sum(len(message["timesNs"]) for message in messages if message["type"] == "timed")
    whole = result["script"]["whole"]
    assert left_out[reason] > 3 and left_out[reason] == pytest.approx(timed / 2, rel=0.5)
    assert whole["samples"] == 8 * whole["steps"] and whole["steps"] > timed and not whole["parts"]


def test_backward_without_updates_is_no_step(tmp_path: Path) -> None:
    failure = found(script_of(tmp_path, "for _ in range(40): loss_of().backward()\n"))
    assert failure["kind"] == "no-training-step"
    assert "40 backward passes" in failure["message"] and "--step-boundary" in failure["message"]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([(0, False), (0, True), (0, True)], None),
        ([(0, False), (0, True), (0, True), (0, True)], (1, 0)),
        ([(0, False), (0, False), (0, True), (0, False), (0, True), (0, False), (0, True)], (2, 0)),
        ([(0, False)] * 200, None),
        ([(0, False), (1, False), (0, True), (1, True), (0, True), (1, True)], (2, 1)),
        ([(0, False), (0, False), (1, False), *[(0, True), (0, False), (1, True)] * 2], (3, 2)),
    ],
)
def test_backward_passes_of_a_step(runs: list[tuple[int, bool]], expected: tuple[int, int] | None) -> None:
    assert find_runs(runs) == expected


COMPILED = """
import torch
torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 10_000
model = torch.nn.Linear(4, 4)
compiled = torch.compile(model, backend="eager", dynamic=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3000):
    optimizer.zero_grad()
    compiled(torch.randn(8 + min(step, LAST), 4)).sum().backward()
    optimizer.step()
"""


def test_a_step_is_warm_when_nothing_is_compiled_any_more(tmp_path: Path) -> None:
    result = found(write(tmp_path, COMPILED.replace("LAST", "12")))
    (phase,) = result["script"]["phases"]
    assert phase["name"] == "compilation" and phase["count"] >= 5
    assert "compilation" not in {one["reason"] for one in result["script"]["leftOut"]}  # all before the recording
    assert not any("settled" in warning for warning in result["warnings"])


def test_a_script_that_compiles_in_every_step_has_not_settled(tmp_path: Path) -> None:
    result = found(write(tmp_path, COMPILED.replace("LAST", "step")), timeBudgetSeconds=0.1)
    assert result["warnings"][0].startswith("torch.compile had not settled after 30 steps")
