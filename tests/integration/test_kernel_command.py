"""`ridgeline kernel`: generated programs, compiled and compared with torch's results."""

from __future__ import annotations

import copy
import ctypes
import importlib.util
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT, ridgeline
from jsonschema import Draft202012Validator

SCHEMA = json.loads((ROOT / "protocol/kernel.schema.json").read_text("utf-8"))


def device_file(folder: Path) -> Path:
    """Figures of a processor with vectors of 16 bytes, which compilers have everywhere."""

    def rate(value: float) -> dict:
        return {"all": {"value": 2 * value, "source": "measured"}, "oneUnit": {"value": value, "source": "measured"}}

    sheet = json.loads(ridgeline("machine", "show", "A100", "--format", "json").stdout)
    sheet.update(kind="cpu", computeUnits=2, vectorBytes=16)
    sheet["peaks"] = [{"dtype": "float32", "flopPerS": rate(1e11)}]
    sizes = {"L1": (32 << 10, 4e11), "L2": (1 << 20, 1e11), "memory": (1 << 34, 2e10)}
    sheet["levels"] = [
        {"name": name, "capacityBytes": size, "sharedByUnits": 1, "transactionBytes": 64, "bytesPerS": rate(speed)}
        for name, (size, speed) in sizes.items()
    ]
    file = folder / "device.json"
    file.write_text(json.dumps(sheet))
    return file


def test_an_odd_product_is_run_and_equals_torchs(tmp_path: Path) -> None:
    emitted = tmp_path / "matmul.cpp"
    done = ridgeline(
        *("kernel", "matmul 61 103 77", "--device", device_file(tmp_path), "--top", "2", "--threads", "2"),
        *("--seconds", "0.02", "--format", "json", "--emit", emitted),
    )
    assert done.returncode == 0, done.stderr
    assert "compiling 2 generated programs" in done.stderr
    answer = json.loads(done.stdout)
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(answer)
    assert all("measuredNs" in program for program in answer["programs"]), answer
    library = tmp_path / "matmul.so"
    command = ["c++", "-std=c++17", "-O1", "-march=native", "-fopenmp", "-fPIC", "-shared", emitted, "-o", library]
    subprocess.run(command, check=True)
    a, b, c = torch.randn(61, 77), torch.randn(77, 103), torch.full((61, 103), float("nan"))
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (a, b, c)]
    assert ctypes.CDLL(str(library)).ridgeline_matmul(*pointers) == 0
    torch.testing.assert_close(c, a @ b)


def test_a_product_with_one_column_equals_torchs(tmp_path: Path) -> None:
    """Rows, vectors and elements of the depth are left over."""
    done = ridgeline(
        *("kernel", "matmul 61 1 77", "--device", device_file(tmp_path), "--top", "4", "--threads", "2"),
        *("--seconds", "0.01", "--format", "json"),
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    Draft202012Validator(SCHEMA).validate(answer)
    assert all("measuredNs" in program for program in answer["programs"]), answer


OPERATORS = ("product", "linear", "conv", "elementwise", "reduce")


def emitted_operator(folder: Path, operation: str, threads: int) -> Any:
    """The emitted operator, one of OPERATORS, for up to `threads` threads, where there is work for them."""
    file = folder / "emitted.py"
    done = ridgeline(
        *("kernel", operation, "--device", device_file(folder), "--top", "1", "--seconds", "0.01"),
        *("--threads", str(threads), "--emit", file, "--format", "json"),
    )
    assert done.returncode == 0, done.stderr
    Draft202012Validator(SCHEMA).validate(json.loads(done.stdout))
    spec = importlib.util.spec_from_file_location("emitted", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(getattr(module, name) for name in OPERATORS if hasattr(module, name))


@pytest.mark.parametrize(
    ("operation", "sizes", "threads"),
    [
        ("matmul 13 37 21 + bias + relu", [(13, 21), (21, 37), (37,)], 2),
        ("bmm 3 17 9 20 + relu", [(3, 17, 20), (3, 20, 9)], 1),
    ],
)
def test_an_emitted_operator_and_its_gradients_equal_torchs(
    tmp_path: Path, operation: str, sizes: list[tuple[int, ...]], threads: int
) -> None:
    product = emitted_operator(tmp_path, operation, threads)
    equals_torchs(product, lambda a, b, *bias: torch.relu(a @ b + sum(bias)), [torch.randn(size) for size in sizes])
    with pytest.raises(ValueError, match="this operator takes"):
        product(torch.zeros(2, 2), *[torch.zeros(size) for size in sizes[1:]])


def test_an_emitted_linear_layer_and_its_gradients_equal_torchs(tmp_path: Path) -> None:
    linear = emitted_operator(tmp_path, "linear 29 37 45 + bias + relu", 2)
    sizes = [(29, 45), (37, 45), (37,)]
    equals_torchs(linear, lambda *all: torch.relu(torch.nn.functional.linear(*all)), [torch.randn(s) for s in sizes])


def equals_torchs(operator: Any, by_torch: Callable[..., torch.Tensor], operands: list[torch.Tensor]) -> None:
    """Results and gradients."""
    operands = [operand.requires_grad_() for operand in operands]
    mine, torchs = operator(*operands), by_torch(*operands)
    torch.testing.assert_close(mine, torchs)
    towards = torch.randn_like(torchs)
    for own, expected in zip(
        torch.autograd.grad(mine, operands, towards), torch.autograd.grad(torchs, operands, towards), strict=True
    ):
        torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-4)
    torch.library.opcheck(operator, tuple(operands), test_utils=("test_schema", "test_faketensor"))


def test_an_elementwise_chain_and_its_gradient_equal_torchs(tmp_path: Path) -> None:
    """Vectors and rows are left over; functions where their result is nearly constant, 0 or infinite."""
    operator = emitted_operator(
        tmp_path, "elementwise 95 1037 = gelu(x) * sigmoid(y) + tanh(z) / b[1037] - relu(-x)", 2
    )

    def by_torch(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x) * torch.sigmoid(y) + torch.tanh(z) / b - torch.relu(-x)

    equals_torchs(operator, by_torch, [*torch.randn(3, 95, 1037), torch.rand(1037) + 0.5])
    wide = torch.linspace(-120, 120, 95 * 1037).reshape(95, 1037)
    ones, zeros = torch.ones(95, 1037), torch.zeros(95, 1037)
    for operands in ((wide / 10, ones, zeros), (ones, wide, zeros), (zeros, zeros, wide), (zeros, zeros, wide / 1e4)):
        torch.testing.assert_close(operator(*operands, ones[0]), by_torch(*operands, ones[0]))


@pytest.mark.parametrize(
    ("operation", "by_torch"),
    [
        ("reduce max 419 1009 dim 0", lambda a: torch.amax(a, dim=0)),
        ("reduce max 419 1009 dim 1", lambda a: torch.amax(a, dim=1)),
        ("reduce mean 419 1009 dim 1", lambda a: torch.mean(a, dim=1)),
    ],
)
def test_a_reduction_and_its_gradient_equal_torchs(
    tmp_path: Path, operation: str, by_torch: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    operator = emitted_operator(tmp_path, operation, 2)
    equals_torchs(operator, by_torch, [torch.randn(419, 1009)])
    special = torch.randn(419, 1009)
    special[3, 7], special[4, 1008] = float("nan"), float("inf")
    special[9, 3], special[9, 5], special[11] = float("inf"), float("-inf"), float("-inf")
    torch.testing.assert_close(operator(special), by_torch(special), equal_nan=True)


@pytest.mark.parametrize(
    ("operation", "image", "weights", "stride", "padding"),
    [
        ("conv 2 3 11 13 5 3 stride 2 padding 1 + relu", (2, 3, 11, 13), (5, 3, 3, 3), 2, 1),
        ("conv 2 3 11 13 5 3 padding 1 + bias + relu", (2, 3, 11, 13), (5, 3, 3, 3), 1, 1),
        ("conv 1 4 9 7 6 2", (1, 4, 9, 7), (6, 4, 2, 2), 1, 0),
    ],
)
def test_a_convolution_and_its_gradients_equal_torchs(
    tmp_path: Path, operation: str, image: tuple[int, ...], weights: tuple[int, ...], stride: int, padding: int
) -> None:
    operator = emitted_operator(tmp_path, operation, 2)

    def by_torch(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        result = torch.conv2d(x, w, bias, stride=stride, padding=padding)
        return torch.relu(result) if operation.endswith("relu") else result

    biases = [torch.randn(weights[:1])] if "bias" in operation else []
    equals_torchs(operator, by_torch, [torch.randn(image), torch.randn(weights), *biases])


def test_bad_operations_are_refused() -> None:
    for bad in ("matmul 1 2", "conv 1 2 3", "matmul 0 1 1", "reduce sum 3 8", "elementwise 3 8 = sin(x)"):
        done = ridgeline("kernel", bad)
        assert done.returncode == 2
        assert "give an operation such as 'matmul 512 1003 768'" in done.stderr


CUDA = {
    "bmm 2 61 103 77 + bias + relu": (
        [(2, 61, 77), (2, 77, 103), (103,)],
        lambda a, b, bias: torch.relu(a @ b + bias),
    ),
    "conv 2 5 13 11 7 3 stride 2 padding 1 + bias": (
        [(2, 5, 13, 11), (7, 5, 3, 3), (7,)],
        lambda x, w, bias: torch.conv2d(x, w, bias, stride=2, padding=1),
    ),
    "linear 61 103 77": ([(61, 77), (103, 77)], torch.nn.functional.linear),
    "elementwise 37 53 = gelu(x * y + b[53]) - tanh(x)": (
        [(37, 53), (37, 53), (53,)],
        lambda x, y, b: torch.nn.functional.gelu(x * y + b) - torch.tanh(x),
    ),
    "reduce mean 41 300 dim 1": ([(41, 300)], lambda a: a.mean(1)),
    "reduce sum 130 300 dim 0": ([(130, 300)], lambda a: a.sum(0)),
    "reduce max 41 67 dim 1": ([(41, 67)], lambda a: a.amax(1)),
}


def test_programs_for_a_gpu_compute_what_torch_does(tmp_path: Path) -> None:
    """On the CPU, where the threads of a block take turns."""
    source = f'#include "{ROOT / "tests/integration/cuda_on_cpu.h"}"\n'
    for number, (operation, (sizes, _)) in enumerate(CUDA.items()):
        file = tmp_path / f"{number}.cu"
        done = ridgeline("kernel", operation, "--device", "V100-PCIE", "--emit", file, "--format", "json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        Draft202012Validator(SCHEMA).validate(answer)
        assert "libraryNs" not in answer and all("problem" in program for program in answer["programs"])
        kind = operation.split()[0].replace("bmm", "matmul").replace("linear", "matmul")
        parameters = ", ".join(f"float* p{i}" for i in range(len(sizes) + 1))
        operands = ", ".join(f"p{i}" for i in range(len(sizes) + 1))
        source += (
            f'namespace n{number} {{\n#define ridgeline_{kind} program_{number}\n#include "{file}"\n'
            f"#undef ridgeline_{kind}\n"
            f'extern "C" void launch_{number}({parameters}) {{\n'
            f"  emulated::launch(kGridX, kGridY, kGridZ, kThreads, [=] {{ program_{number}({operands}); }});\n}}\n}}\n"
        )
    (tmp_path / "all.cpp").write_text(source)
    library = tmp_path / "all.so"
    flags = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared"]
    subprocess.run(["c++", *flags, tmp_path / "all.cpp", "-o", library], check=True)
    for number, (operation, (sizes, by_torch)) in enumerate(CUDA.items()):
        operands = [torch.randn(size) for size in sizes]
        expected = by_torch(*operands)
        result = torch.full(expected.shape, float("nan"))
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*operands, result)]
        getattr(ctypes.CDLL(str(library)), f"launch_{number}")(*pointers)
        torch.testing.assert_close(result, expected, msg=lambda text, name=operation: f"{name}: {text}")


STEP_SCHEMA = json.loads((ROOT / "protocol/step_kernels.schema.json").read_text("utf-8"))


@pytest.mark.long
def test_operations_of_a_step_are_timed_beside_torchs_with_their_strides(
    tmp_path: Path, example_report: Callable[[str], dict[str, Any]]
) -> None:
    """The profile's step is one linear layer: its weight is transposed, as in torch's."""
    report = copy.deepcopy(example_report("mlp"))
    arguments = ["t:float32:37:1", "t:float32:13,21:21,1", "t:float32:21,37:1,21"]
    key = json.dumps(["aten::addmm.default", arguments, {}], separators=(",", ":"))
    line = report["work"]["lines"][0]
    line["costliest"] = [
        {**line["costliest"][0], "operation": key, "operations": 1, "timeMs": report["iteration"]["timeMs"]}
    ]
    report["work"]["lines"] = [line]
    report["environment"]["threads"] = 2
    profile = tmp_path / "report.json"
    profile.write_text(json.dumps(report))
    done = ridgeline(
        *("kernel", "--of", profile, "--device", device_file(tmp_path), "--top", "1", "--seconds", "0.01"),
        *("--emit-folder", tmp_path / "operators", "--format", "json"),
        RIDGELINE_CACHE=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    Draft202012Validator.check_schema(STEP_SCHEMA)
    Draft202012Validator(STEP_SCHEMA).validate(answer)
    (found,) = answer["operations"]
    assert found["operation"] == "linear 13 37 21 + bias"
    measured = found["measured"]  # a call takes the whole iteration: nothing can disturb it that much
    assert measured["ratioLow"] <= measured["ratio"] <= measured["ratioHigh"]
    assert list((tmp_path / "operators").iterdir()) == ([Path(found["file"])] if measured["ratioHigh"] < 1 else [])
    (kept,) = json.loads(next((tmp_path / "cache").glob("*/*-programs.json")).read_text("utf-8"))
    assert kept["operation"] == found["operation"] and kept["threads"] == 2 and kept["torch"] == torch.__version__


def test_a_profile_of_another_processor_is_refused(
    tmp_path: Path, example_report: Callable[[str], dict[str, Any]]
) -> None:
    report = copy.deepcopy(example_report("mlp"))
    report["environment"]["deviceName"] = "Abacus"
    profile = tmp_path / "report.json"
    profile.write_text(json.dumps(report))
    done = ridgeline("kernel", "--of", profile, "--device", device_file(tmp_path))
    assert done.returncode == 2
    assert "the profile was made on Abacus" in done.stderr


def test_an_operation_or_a_profile_is_needed() -> None:
    done = ridgeline("kernel")
    assert done.returncode == 2
    assert "either an operation" in done.stderr
