"""NeuSight's whole models, as the operations of this project: its rows of one layer to keys of the step."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torch_keys import batches, key, linear, rowwise, tensor

WANTED = re.compile(r"label/([^/]+)/((?:bert_large|gpt2_large|gpt3_xl|gpt3_27|opt_13)-(inf|train)-\d+-\d+)\.csv")
LAYER = re.compile(r"(?:^|\.)(?:layer|h|layers)\.0\.")
DEVICES = {
    "Tesla_P4": "P4",
    "Tesla_P100-PCIE-16GB": "P100-PCIE",
    "Tesla_V100-PCIE-32GB": "V100-PCIE-32GB",
    "NVIDIA_A100-PCIE-40GB": "A100-PCIE-40GB",
    "NVIDIA_L4": "L4",
}
DATA_PARALLEL = ("gpt2_large-train-1024-4-dp4", "gpt2_large-train-1024-1")  # and of one rank
EMBEDDINGS = {"wte": 50257, "wpe": 1024}  # rows, of GPT-2
Shape = list[int]
Row = dict[str, str]


@dataclass(frozen=True)
class Model:
    device: str
    name: str
    trains: bool
    milliseconds: float  # of a step, measured
    operations_sum: float  # of the single operations, measured
    keys: Counter[str]


def flat(shape: Shape) -> tuple[int, int]:
    rows = 1
    for size in shape[:-1]:
        rows *= size
    return rows, shape[-1]


def product_keys(inputs: list[Shape], trains: bool) -> list[str]:
    a, b = inputs[0], inputs[1]
    batch, (m, k), n = flat([*a[:-2], 1])[0], a[-2:], b[-1]
    keys = [batches(batch, m, n, k)]
    return keys + ([batches(batch, m, k, n), batches(batch, k, n, m)] if trains else [])


def linear_keys(m: int, n: int, k: int, trains: bool) -> list[str]:
    """Backward: of the input and of the weight, which is added to its gradient, and the sum of the bias."""
    if not trains:
        return [linear(m, n, k)]
    input_gradient = key("mm.default", tensor(m, n), tensor(n, k))
    weight_gradient = key("mm.default", tensor(n, m, strides=[1, n]), tensor(m, k))
    bias_gradient = key("sum.dim_IntList", tensor(m, n), [0], True)
    added = key("add.Tensor", tensor(n, k), tensor(n, k))
    return [linear(m, n, k), input_gradient, weight_gradient, bias_gradient, added]


def norm_keys(rows: int, size: int, trains: bool) -> list[str]:
    x, one = tensor(rows, size), tensor(size)
    moments = tensor(rows, 1)
    backward = key("native_layer_norm_backward.default", x, x, [size], moments, moments, one, one, [True] * 3)
    return [rowwise("ln", rows, size), *([backward] if trains else [])]


def function_keys(name: str, inputs: list[Shape], out: Shape, trains: bool) -> list[str]:
    rows, size = flat(out)
    x = tensor(rows, size)
    tensors = sum(1 for shape in inputs if len(shape) > 1)
    if name == "softmax":
        backward = key("_softmax_backward_data.default", x, x, -1, "float32")
        return [rowwise("softmax", rows, size), *([backward] if trains else [])]
    if name in ("gelu", "tanh", "relu"):
        gradient = {"gelu": "gelu_backward", "tanh": "tanh_backward", "relu": "threshold_backward"}[name]
        backward = key(f"{gradient}.default", x, x, *([0] if name == "relu" else []))
        return [rowwise(name, rows, size), *([backward] if trains else [])]
    if name in ("add", "sub"):
        return [rowwise("add" if tensors > 1 else "addu", rows, size)]
    if name in ("mul", "truediv", "pow"):
        kind = {"mul": "mul", "truediv": "div", "pow": "pow"}[name]
        forward = rowwise(kind if tensors > 1 else kind + "u", rows, size)
        times = rowwise("mul" if tensors > 1 or name == "pow" else "mulu", rows, size)
        return [forward, *([times] * (2 if tensors > 1 or name == "pow" else 1) if trains else [])]
    if name == "where":
        where = key("where.self", f"t:bool:{rows},{size}:{size},1:cuda", x, x)
        return [where, *([where] if trains else [])]
    if name == "contiguous":
        return [key("clone.default", x)]
    return []


def keys_of(row: Row, trains: bool) -> list[str]:
    """The keys of operations that compute; views, sizes and embeddings have none."""
    if row["op"] not in ("call_module", "call_function", "call_method"):
        return []
    inputs, out = ast.literal_eval(row["input_shapes"]), list(ast.literal_eval(row["output_shape"]))
    target = row["target"]
    if len(out) < 2 or not inputs:
        return []
    if row["op"] == "call_module":
        last = target.rsplit(".", 1)[-1].lower()
        if "norm" in last or last.startswith("ln_"):
            return norm_keys(*flat(out), trains)
        if "drop" in last:  # of inference nothing
            return [rowwise("mulu", *flat(out))] * 2 if trains else []
        if "embed" in target or last in ("wte", "wpe"):
            return []
        if "activation" in last or last in ("act", "activation_fn"):
            return function_keys("relu" if "opt" in target else "gelu", inputs, out, trains)
        return linear_keys(*flat(out), inputs[0][-1], trains)
    name = re.sub(r"<(?:built-in )?(?:function|method) (\w+).*", r"\1", target)
    if name == "addmm":
        return linear_keys(*out, inputs[1][-1], trains)
    if name in ("matmul", "bmm"):
        return product_keys(inputs, trains)
    return function_keys(name, inputs, out, trains)


def parameters_of(row: Row) -> list[int]:
    """Their sizes, of GPT-2. NeuSight timed adding up their gradients; the head shares its weight with an embedding."""
    if not float(row["acc_latency"] or 0) or row["target"] == "lm_head":
        return []
    inputs, out = ast.literal_eval(row["input_shapes"]), list(ast.literal_eval(row["output_shape"]))
    if "addmm" in row["target"]:
        return [inputs[1][-1] * out[-1], out[-1]]
    last = row["target"].rsplit(".", 1)[-1]
    if last in EMBEDDINGS:
        return [EMBEDDINGS[last] * out[-1]]
    return [out[-1]] * 2


def counted(rows: list[Row], layers: int) -> Iterator[tuple[Row, int]]:
    """The rows of the first layer count as often as there are layers: from the first that names it to the last."""
    inside = [i for i, row in enumerate(rows) if row["op"] != "get_attr" and LAYER.search(row["target"])]
    # What adds the last module's output to its input belongs to the layer too.
    last = max(inside) + (2 if rows[max(inside) + 1]["target"].startswith("<built-in function add") else 1)
    for i, row in enumerate(rows):
        yield row, layers if min(inside) <= i < last else 1


def model_of(device: str, name: str, trains: bool, rows: list[Row], whole: dict[str, float]) -> Model:
    keys: Counter[str] = Counter()
    total = 0.0
    for row, times in counted(rows, int(whole["num_layer"])):
        found = keys_of(row, trains)
        for one in found:
            keys[one] += times
        measured = float(row["fw_latency"] or 0)
        measured += (float(row["bw_latency"] or 0) + float(row["acc_latency"] or 0)) if trains else 0
        total += times * measured if found else 0
    return Model(device, name, trains, whole["e2e_latency"], total, keys)


def texts_of(archive_file: Path) -> dict[str, str]:
    with tarfile.open(archive_file) as archive:
        return {
            member.name.removeprefix("./"): archive.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in archive
            if member.isfile()
        }


def data_parallel_of(archive_file: Path) -> tuple[Model, list[int]]:
    """GPT-2 on four GPUs, each with a sample, and the bytes of its gradients as backward has them. Its operations are
    those of one GPU with a sample, on another device."""
    texts = texts_of(archive_file)
    one = f"label/Tesla_V100-PCIE-32GB/{DATA_PARALLEL[1]}"
    rows = list(csv.DictReader(io.StringIO(texts[f"{one}.csv"])))
    whole = json.loads(texts[f"{one}.json"])
    sizes = [size for row, times in counted(rows, whole["num_layer"]) for size in parameters_of(row) * times]
    took = json.loads(texts[f"label/NVIDIA_A100-SXM4-40GB/{DATA_PARALLEL[0]}.json"])["e2e_latency"]
    model = model_of("A100", DATA_PARALLEL[0], True, rows, {**whole, "e2e_latency": took})
    return model, [4 * size for size in reversed(sizes)]


def models_of(archive_file: Path) -> list[Model]:
    models = []
    texts = texts_of(archive_file)
    for path, text in sorted(texts.items()):
        found = WANTED.fullmatch(path)
        if found and found[1] in DEVICES:
            rows = list(csv.DictReader(io.StringIO(text)))
            whole = json.loads(texts[path.removesuffix(".csv") + ".json"])
            models.append(model_of(DEVICES[found[1]], found[2], found[3] == "train", rows, whole))
    return models
