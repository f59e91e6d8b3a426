"""NeuSight's rows as calls of torch: keys as profiler/runner/ridgeline_runner/measure/operation_key.py writes them."""

from __future__ import annotations

import json
import math

BINARY_OPERATIONS = ("add", "mul", "div", "pow")
FUNCTIONS = ("relu", "gelu", "tanh")


def tensor(*sizes: int, strides: list[int] | None = None, dtype: str = "float32") -> str:
    strides = strides or [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return f"t:{dtype}:{','.join(map(str, sizes))}:{','.join(map(str, strides))}:cuda"


def key(name: str, *arguments: object) -> str:
    return json.dumps([f"aten::{name}", list(arguments), {}], separators=(",", ":"))


def linear(m: int, n: int, k: int) -> str:
    return key("addmm.default", tensor(n), tensor(m, k), tensor(k, n, strides=[1, k]))


def batches(b: int, m: int, n: int, k: int) -> str:
    return key("bmm.default", tensor(b, m, k), tensor(b, k, n))


Pair = tuple[int, int]


def convolution(what: str, x: tuple[int, ...], weight: tuple[int, ...], padding: Pair, stride: Pair) -> str:
    """Forward, or the gradient of the input or the weight; of images and filters of these sizes."""
    how = (list(stride), list(padding), [1, 1], False, [0, 0], 1)
    if what == "forward":
        return key("convolution.default", tensor(*x), tensor(*weight), None, *how)
    out = [(a + 2 * p - b) // d + 1 for a, b, p, d in zip(x[2:], weight[2:], padding, stride, strict=True)]
    mask = ["input" in what, "weight" in what, False]
    gradient = tensor(x[0], weight[0], *out)
    return key("convolution_backward.default", gradient, tensor(*x), tensor(*weight), [0], *how, mask)


def rowwise(name: str, b: int, h: int) -> str:
    """The key for one of NeuSight's names; "addu" has one tensor and a number."""
    x = tensor(b, h)
    if name == "ln":
        return key("native_layer_norm.default", x, [h], tensor(h), tensor(h), 1e-5)
    if name == "softmax":
        return key("_softmax.default", x, -1, False)
    if name in FUNCTIONS:
        return key(f"{name}.default", x)
    if name in BINARY_OPERATIONS:
        return key("pow.Tensor_Tensor" if name == "pow" else f"{name}.Tensor", x, x)
    one = name.removesuffix("u")
    return key("pow.Tensor_Scalar" if one == "pow" else f"{one}.Scalar", x, 2.5)


def key_of(row: dict[str, str]) -> str:
    if row["OPName"] == "bmm":
        return batches(*(int(row[name]) for name in "BMNK"))
    if row["OPName"] == "linear":
        return linear(int(row["B"]) * int(row["M"]), int(row["N"]), int(row["K"]))
    return rowwise(row["OPName"], int(row["B"]), int(row["H"]))
