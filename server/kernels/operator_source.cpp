#include "kernels/operator_source.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kernels/matmul_source.h"

namespace ridgeline::kernels {

namespace {

constexpr std::string_view kModule =
    R"code("""An operator of PyTorch, made by `ridgeline kernel '@OPERATION@'` for the processor that it ran on.

`product(@ARGUMENTS@)` returns @MEANING@, all of float32 on the CPU. Its gradient's
products are programs of the same construction, the best by prediction. Importing compiles them with CXX or c++.
"""

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import torch

_FORWARD = r'''
@FORWARD@'''
_LEFT_GRADIENT = r'''
@LEFT@'''
_RIGHT_GRADIENT = r'''
@RIGHT@'''


def _compiled(source):
    with tempfile.TemporaryDirectory() as name:
        file, library = Path(name, "program.cpp"), Path(name, "program.so")
        file.write_text(source, "utf-8")
        flags = ["-std=c++17", "-O3", "-march=native", "-fPIC", "-shared"]
        flags += ["-fopenmp"] if "#define RIDGELINE_PARALLEL 1" in source else []
        subprocess.run([os.environ.get("CXX", "c++"), *flags, str(file), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library)).ridgeline_matmul


_forward, _left_gradient, _right_gradient = map(_compiled, (_FORWARD, _LEFT_GRADIENT, _RIGHT_GRADIENT))
_A, _B, _C, _HAS_BIAS, _HAS_RELU = @A@, @B@, @C@, @BIAS@, @RELU@


def _run(program, shape, *operands):
    operands = [each.contiguous() for each in operands]
    result = torch.empty(shape)
    if program(*(ctypes.c_void_p(each.data_ptr()) for each in (*operands, result))) != 0:
        raise MemoryError("there was no memory for the panels of a product")
    return result


def _check(*operands):
    for each, shape in zip(operands, (_A, _B, _C[-1:])):
        if tuple(each.shape) != shape or each.dtype != torch.float32 or each.device.type != "cpu":
            raise ValueError(f"{tuple(each.shape)} of {each.dtype} on {each.device}: this operator takes {shape} of float32 on the CPU")


@torch.library.custom_op("ridgeline::@NAME@", mutates_args=())
def product(@PARAMETERS@) -> torch.Tensor:
    _check(@ARGUMENTS@)
    return _run(_forward, _C, @ARGUMENTS@)


@torch.library.custom_op("ridgeline::@NAME@_gradient", mutates_args=())
def _gradient(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return _run(_left_gradient, _A, gradient, b.mT), _run(_right_gradient, _B, a.mT, gradient)


@product.register_fake
def _(@PARAMETERS@):
    return a.new_empty(_C)


@_gradient.register_fake
def _(gradient, a, b):
    return a.new_empty(_A), b.new_empty(_B)


def _save(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], inputs[1], *([output] if _HAS_RELU else []))


def _backward(ctx, gradient):
    a, b, *outputs = ctx.saved_tensors
    if outputs:
        gradient = gradient * (outputs[0] > 0)
    left, right = _gradient(gradient, a, b)
    return (left, right, gradient.flatten(0, -2).sum(0)) if _HAS_BIAS else (left, right)


product.register_autograd(_backward, setup_context=_save)
)code";

void replace_all(std::string& text, std::string_view token, std::string_view value) {
  for (std::size_t at = 0; (at = text.find(token, at)) != std::string::npos; at += value.size()) {
    text.replace(at, token.size(), value);
  }
}

/// "(16, 512, 1003)" of the sizes of a matrix, for each batch.
std::string sizes_text(const MatmulShape& shape, std::int64_t rows, std::int64_t columns) {
  const std::string batches = shape.batches > 1 ? std::to_string(shape.batches) + ", " : "";
  return "(" + batches + std::to_string(rows) + ", " + std::to_string(columns) + ")";
}

/// Of letters, digits and underscores.
std::string operator_name(const MatmulShape& shape) {
  std::string name = matmul_text(shape);
  std::erase(name, '+');
  replace_all(name, "  ", " ");
  std::ranges::replace(name, ' ', '_');
  return name;
}

base::Result<std::string> best_source(const MatmulShape& shape, const hardware::Device& device, int threads) {
  const auto construction = construct_matmul(shape, device, threads, 1);
  return construction ? base::Result<std::string>(matmul_source(construction->plans.front()))
                      : base::Result<std::string>(construction.error());
}

}  // namespace

base::Result<std::string> operator_module(const MatmulPlan& forward, const hardware::Device& device, int threads) {
  const MatmulShape& shape = forward.shape;
  const auto left = best_source({shape.rows, shape.depth, shape.columns, shape.batches}, device, threads);
  const auto right = best_source({shape.depth, shape.columns, shape.rows, shape.batches}, device, threads);
  if (!left || !right) {
    return left ? right.error() : left.error();
  }
  std::string text(kModule);
  const std::string product = shape.bias ? "a @ b + bias" : "a @ b";
  for (const auto& [token, value] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"@OPERATION@", matmul_text(shape)},
           {"@ARGUMENTS@", shape.bias ? "a, b, bias" : "a, b"},
           {"@PARAMETERS@",
            shape.bias ? "a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor" : "a: torch.Tensor, b: torch.Tensor"},
           {"@MEANING@", shape.relu ? "relu(" + product + ")" : product},
           {"@NAME@", operator_name(shape)},
           {"@A@", sizes_text(shape, shape.rows, shape.depth)},
           {"@B@", sizes_text(shape, shape.depth, shape.columns)},
           {"@C@", sizes_text(shape, shape.rows, shape.columns)},
           {"@BIAS@", shape.bias ? "True" : "False"},
           {"@RELU@", shape.relu ? "True" : "False"},
           {"@FORWARD@", matmul_source(forward)},
           {"@LEFT@", *left},
           {"@RIGHT@", *right}}) {
    replace_all(text, token, value);
  }
  return text;
}

}  // namespace ridgeline::kernels
