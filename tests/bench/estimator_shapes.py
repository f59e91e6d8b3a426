"""Operations with random shapes, of the nine operators of Tianshu's table 3, and their times alone on this machine.

As a program: `estimator_shapes.py SECONDS OUTPUT.csv` measures as many as it can and writes what `ridgeline operations
import --format operations` reads. Tianshu draws each dimension from 1 to 1024 on a V100; here dimensions are drawn so
that their logarithm is uniform, and what takes more than 2 GFLOP or 2^22 elements is drawn again.
"""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "profiler/runner"))

OPERATORS = ("add", "sub", "mul", "div", "mm", "relu", "convolution", "convolution_input", "convolution_weight")
MOST_ELEMENTS = 1 << 22
MOST_FLOP = 2e9
SEED = 26


def tensor(*sizes: int) -> str:
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return f"t:float32:{','.join(map(str, sizes))}:{','.join(map(str, strides))}"


def draw(operator: str, random_: random.Random) -> str:
    """The key of a call."""

    def size(least: int = 1, most: int = 1024) -> int:
        return round(math.exp(random_.uniform(math.log(least), math.log(most + 0.49))))

    if operator in ("add", "sub", "mul", "div", "relu"):
        sizes = [size() for _ in range(random_.randint(2, 3))]
        if math.prod(sizes) > MOST_ELEMENTS:
            return draw(operator, random_)
        if operator == "relu":
            return key("aten::relu.default", tensor(*sizes))
        return key(f"aten::{operator}.Tensor", tensor(*sizes), tensor(*sizes))
    if operator == "mm":
        m, k, n = size(), size(), size()
        return key("aten::mm.default", tensor(m, k), tensor(k, n))
    batch, channels, height, width, filters = size(1, 64), size(1, 256), size(4, 128), size(4, 128), size(1, 256)
    kernel, stride = random_.choice((1, 3, 5)), random_.choice((1, 2))
    padding = kernel // 2
    out = [batch, filters, (height + 2 * padding - kernel) // stride + 1, (width + 2 * padding - kernel) // stride + 1]
    flop = 2 * math.prod(out) * channels * kernel * kernel
    if flop > MOST_FLOP or max(math.prod(out), batch * channels * height * width) > MOST_ELEMENTS:
        return draw(operator, random_)
    x, weight = tensor(batch, channels, height, width), tensor(filters, channels, kernel, kernel)
    how = ([stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1)
    if operator == "convolution":
        return key("aten::convolution.default", x, weight, None, *how)
    mask = [operator == "convolution_input", operator == "convolution_weight", False]
    return key("aten::convolution_backward.default", tensor(*out), x, weight, [0], *how, mask)


def key(name: str, *arguments: object) -> str:
    return json.dumps([name, list(arguments), {}], separators=(",", ":"))


def main() -> None:
    from ridgeline_runner.measure import measure_elsewhere

    seconds, output = float(sys.argv[1]), sys.argv[2]
    random_ = random.Random(SEED)
    keys = list(dict.fromkeys(draw(operator, random_) for _ in range(2000) for operator in OPERATORS))
    sys.argv = [sys.argv[0], "--device", "cpu", "--output", output]
    sys.exit(measure_elsewhere.main({"keys": keys, "seconds": seconds}))


if __name__ == "__main__":
    main()
