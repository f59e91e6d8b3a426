"""Trains the estimators of operation times: what `ridgeline operations train` runs with the user's torch, as
`train_estimators.py PLAN OUTPUT`. Reads groups of calls that differ in their parameters only, and writes the weights of
the best model of each as JSON; `server/operations/estimators` evaluates them.

Three kinds compete by cross-validation, each on the logarithm of the time:

- product: a + b * PC, where PC, the principal component, is the product of parameters that is searched (Tianshu,
  section 3.2.2);
- trees: gradient-boosted regression trees (Friedman, 2001) on what the product leaves over;
- mlp: a perceptron of two hidden layers on what the product leaves over.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

FOLDS = 5
MOST_FORMS = 20_000  # of the product; beyond, parameters are added one by one
LEAST_ROWS = 20
_TREES, _DEPTH, _RATE, _LEAST_LEAF = 150, 3, 0.1, 4
_HIDDEN, _EPOCHS, _LEARNING_RATE = 24, 400, 0.01
KINDS = ("product", "trees", "mlp")


def main(plan_file: Path, output: Path) -> None:
    """The plan: {"groups": [{"parameters": [[...]], "dimensions": [bool], "features": [[...]], "folds": [...],
    "leastNs": [...], "ns": [...]}], "withoutProduct": bool}. Rows of one fold are held out together; none: at random.
    No estimate is less than "leastNs"; none: not known. What is written has a model or None for each group, in order.
    """
    plan = json.loads(plan_file.read_text("utf-8"))
    torch.set_num_threads(1)  # tensors are small: threads only cost
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    models = [train(group, with_product=not plan["withoutProduct"]) for group in plan["groups"]]
    output.write_text(json.dumps({"models": models}), "utf-8")
    print("trained", flush=True)


def train(group: dict[str, Any], *, with_product: bool = True) -> dict[str, Any] | None:
    parameters, features = torch.tensor(group["parameters"]), torch.tensor(group["features"])
    ns = torch.tensor(group["ns"])
    if len(ns) < LEAST_ROWS:
        return None
    forms = product_forms(parameters, group["dimensions"]) if with_product else [[0] * len(group["dimensions"])]
    folds = torch.tensor(group["folds"]) if group["folds"] else torch.randperm(len(ns)) % FOLDS
    left_over: dict[str, Tensor] = {kind: torch.zeros(len(ns)) for kind in KINDS}
    for fold in folds.unique():
        held_out, rest = folds == fold, folds != fold
        model = fit(parameters[rest], features[rest], ns[rest], forms, KINDS)
        for kind in KINDS:
            found = estimate(model, kind, parameters[held_out], features[held_out])
            if group["leastNs"]:
                found = torch.maximum(found, torch.log(torch.tensor(group["leastNs"])[held_out].clamp(min=1e-3)))
            left_over[kind][held_out] = torch.log(ns[held_out]) - found
    errors = {kind: torch.expm1(left.abs()).mean().item() for kind, left in left_over.items()}
    best = min(KINDS, key=errors.__getitem__)
    low, high = interval_across(left_over[best], folds) if group["folds"] else interval(left_over[best])
    model = fit(parameters, features, ns, forms, (best,))
    return {"kind": best, "errors": errors, "low": low, "high": high, **model}


def interval(left_over: Tensor) -> tuple[float, float]:
    """The range that holds 95 % of further ones: order statistics, the extremes where there are fewer than 39."""
    ordered = left_over.sort().values
    cut = max(0, math.floor(0.025 * (len(ordered) + 1)) - 1)
    return ordered[cut].item(), ordered[len(ordered) - 1 - cut].item()


def interval_across(left_over: Tensor, folds: Tensor) -> tuple[float, float]:
    """The widest of the intervals of single folds: errors on one device go together, so those on all devices at once
    say too little of the next one."""
    lows, highs = zip(*(interval(left_over[folds == fold]) for fold in folds.unique()), strict=True)
    return min(lows), max(highs)


def fit(parameters: Tensor, features: Tensor, ns: Tensor, forms: list[list[int]], kinds: tuple[str, ...]) -> Any:
    """What each of the kinds needs."""
    model: dict[str, Any] = {"product": fit_product(parameters, ns, forms)}
    base = log_of_product(model["product"], parameters)
    inputs = torch.cat([features, base[:, None]], dim=1)
    left_over = torch.log(ns) - base
    if "trees" in kinds:
        model["trees"] = fit_trees(inputs, left_over)
    if "mlp" in kinds:
        model["mlp"] = fit_mlp(inputs, left_over)
    return model


def estimate(model: dict[str, Any], kind: str, parameters: Tensor, features: Tensor) -> Tensor:
    """The logarithm of nanoseconds."""
    base = log_of_product(model["product"], parameters)
    if kind == "product":
        return base
    inputs = torch.cat([features, base[:, None]], dim=1)
    return base + (evaluate_trees if kind == "trees" else evaluate_mlp)(model[kind], inputs)


# ---- the product form


def product_forms(parameters: Tensor, dimensions: list[bool]) -> list[list[int]]:
    """Exponents of each parameter: 0 (null), 1 (linear), -1 (inverse). Sizes of tensors are linear or null; what is
    not positive can only be null (Tianshu, section 3.2.2, step 1)."""
    choices = [
        (0,) if bool((column <= 0).any()) else (0, 1) if is_dimension else (0, 1, -1)
        for column, is_dimension in zip(parameters.T, dimensions, strict=True)
    ]
    if math.prod(map(len, choices)) <= MOST_FORMS:
        return [list(form) for form in itertools.product(*choices)]
    return [[1 if 1 in choice and wanted else 0 for choice in choices] for wanted in (False, True)]


def fit_product(parameters: Tensor, ns: Tensor, forms: list[list[int]]) -> dict[str, Any]:
    """a + b * PC with the least relative squares, neither negative, for the form that leaves the least error."""
    exponents = torch.tensor(forms, dtype=torch.float64)
    best: tuple[float, dict[str, Any]] | None = None
    for some in exponents.split(512):
        values = torch.exp(torch.log(parameters.clamp(min=1e-300)) @ some.T)  # rows × forms
        one, slope = 1 / ns[:, None], values / ns[:, None]
        aa, ab, bb = (one * one).sum(0), (one * slope).sum(0), (slope * slope).sum(0)
        ya, yb = one.sum(0), slope.sum(0)
        determinant = aa * bb - ab * ab
        a = (ya * bb - yb * ab) / determinant
        b = (yb * aa - ya * ab) / determinant
        singular = (determinant <= 1e-12 * aa * bb) | (b <= 0)
        a, b = torch.where(singular, ya / aa, a), torch.where(singular, 0.0, b)
        through_zero = a <= 0
        a, b = torch.where(through_zero, 0.0, a), torch.where(through_zero, yb / bb, b)
        error = (torch.log((a + b * values).clamp(min=1e-3)) - torch.log(ns)[:, None]).abs().mean(0)
        at = int(error.argmin())
        if best is None or error[at].item() < best[0]:
            form = [int(value) for value in some[at].tolist()]
            best = error[at].item(), {"exponents": form, "offsetNs": a[at].item(), "scaleNs": b[at].item()}
    assert best is not None
    return best[1]


def log_of_product(product: dict[str, Any], parameters: Tensor) -> Tensor:
    exponents = torch.tensor(product["exponents"], dtype=torch.float64)
    value = torch.exp(torch.log(parameters.clamp(min=1e-300)) @ exponents)
    return torch.log((product["offsetNs"] + product["scaleNs"] * value).clamp(min=1e-3))


# ---- gradient-boosted trees


def fit_trees(inputs: Tensor, target: Tensor) -> dict[str, Any]:
    mean = target.mean()
    left = target - mean
    trees = []
    for _ in range(_TREES):
        tree: list[list[float]] = []
        change = torch.zeros_like(target)
        _grow(inputs, left, torch.arange(len(target)), _DEPTH, tree, change)
        trees.append(tree)
        left = left - change
    return {"mean": mean.item(), "trees": trees}


def _grow(inputs: Tensor, left: Tensor, rows: Tensor, depth: int, tree: list[list[float]], change: Tensor) -> int:
    """Adds a node and those below it: [feature or -1, threshold or value, index of the lower, of the higher child]."""
    index = len(tree)
    value = _RATE * left[rows].mean().item()
    tree.append([-1, value, 0, 0])
    split = _best_split(inputs[rows], left[rows]) if depth > 0 and len(rows) >= 2 * _LEAST_LEAF else None
    if split is None:
        change[rows] = value
        return index
    feature, threshold = split
    below = inputs[rows, feature] <= threshold
    lower = _grow(inputs, left, rows[below], depth - 1, tree, change)
    higher = _grow(inputs, left, rows[~below], depth - 1, tree, change)
    tree[index] = [feature, threshold, lower, higher]
    return index


def _best_split(inputs: Tensor, target: Tensor) -> tuple[int, float] | None:
    values, order = inputs.sort(dim=0)
    sums = target[order].cumsum(0)
    count = torch.arange(1, len(target) + 1, dtype=torch.float64)[:, None]
    rest = len(target) - count
    gain = sums**2 / count + (sums[-1:] - sums) ** 2 / rest.clamp(min=1)
    allowed = (count >= _LEAST_LEAF) & (rest >= _LEAST_LEAF)
    differs = torch.zeros_like(gain, dtype=torch.bool)
    differs[:-1] = values[1:] > values[:-1]
    gain = torch.where(allowed & differs, gain, -1.0)
    at = int(gain.argmax())
    row, feature = divmod(at, inputs.shape[1])
    if gain[row, feature] < 0:
        return None
    return feature, ((values[row, feature] + values[row + 1, feature]) / 2).item()


def evaluate_trees(model: dict[str, Any], inputs: Tensor) -> Tensor:
    total = torch.full((len(inputs),), model["mean"])
    for tree in model["trees"]:
        nodes = torch.tensor(tree)
        at = torch.zeros(len(inputs), dtype=torch.long)
        for _ in range(_DEPTH):
            node = nodes[at]
            feature = node[:, 0].long()
            value = inputs.gather(1, feature.clamp(min=0)[:, None])[:, 0]
            child = torch.where(value <= node[:, 1], node[:, 2], node[:, 3]).long()
            at = torch.where(feature < 0, at, child)
        total += nodes[at, 1]
    return total


# ---- a perceptron


def fit_mlp(inputs: Tensor, target: Tensor) -> dict[str, Any]:
    mean, scale = inputs.mean(0), inputs.std(0)
    scale = torch.where(scale > 1e-9, scale, 1.0)
    net = torch.nn.Sequential(
        torch.nn.Linear(inputs.shape[1], _HIDDEN),
        torch.nn.Tanh(),
        torch.nn.Linear(_HIDDEN, _HIDDEN),
        torch.nn.Tanh(),
        torch.nn.Linear(_HIDDEN, 1),
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=_LEARNING_RATE, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, _EPOCHS)
    ready = (inputs - mean) / scale
    for _ in range(_EPOCHS):
        optimizer.zero_grad()
        torch.nn.functional.smooth_l1_loss(net(ready)[:, 0], target, beta=0.05).backward()
        optimizer.step()
        schedule.step()
    layers = [
        {"weight": layer.weight.tolist(), "bias": layer.bias.tolist()}
        for layer in net
        if isinstance(layer, torch.nn.Linear)
    ]
    return {"mean": mean.tolist(), "scale": scale.tolist(), "layers": layers}


def evaluate_mlp(model: dict[str, Any], inputs: Tensor) -> Tensor:
    value = (inputs - torch.tensor(model["mean"])) / torch.tensor(model["scale"])
    for number, layer in enumerate(model["layers"]):
        value = value @ torch.tensor(layer["weight"]).T + torch.tensor(layer["bias"])
        if number + 1 < len(model["layers"]):
            value = torch.tanh(value)
    return value[:, 0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
