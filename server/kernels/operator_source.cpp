#include "kernels/operator_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/matmul_source.h"
#include "kernels/source_text.h"

namespace ridgeline::kernels {

namespace {

constexpr std::string_view kModule =
    R"code("""An operator of PyTorch, made by `ridgeline kernel '@OPERATION@'` for the processor that it ran on.

@MEANING@ Importing compiles this with CXX or c++.
"""

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import torch
@IMPORTS@

def _compiled(source, function):
    with tempfile.TemporaryDirectory() as name:
        file, library = Path(name, "program.cpp"), Path(name, "program.so")
        file.write_text(source, "utf-8")
        flags = ["-std=c++17", "-O3", "-march=native", "-fPIC", "-shared"]
        flags += ["-fopenmp"] if "#define RIDGELINE_PARALLEL 1" in source else []
        subprocess.run([os.environ.get("CXX", "c++"), *flags, str(file), "-o", str(library)], check=True)
        return getattr(ctypes.CDLL(str(library)), function)


def _run(program, shape, *operands):
    operands = [each.contiguous() for each in operands]
    result = torch.empty(shape)
    if program(*(ctypes.c_void_p(each.data_ptr()) for each in (*operands, result))) != 0:
        raise MemoryError("there was no memory for the panels of a product")
    return result


def _check(operands, shapes):
    for each, shape in zip(operands, shapes):
        if tuple(each.shape) != shape or each.dtype != torch.float32 or each.device.type != "cpu":
            raise ValueError(f"{tuple(each.shape)} of {each.dtype} on {each.device}: this operator takes {shape} of float32 on the CPU")


)code";

constexpr std::string_view kProduct = R"code(_FORWARD = r'''
@FORWARD@'''
_LEFT_GRADIENT = r'''
@LEFT@'''
_RIGHT_GRADIENT = r'''
@RIGHT@'''


_forward, _left_gradient, _right_gradient = (
    _compiled(each, "ridgeline_matmul") for each in (_FORWARD, _LEFT_GRADIENT, _RIGHT_GRADIENT)
)
_A, _B, _C, _HAS_BIAS, _HAS_RELU = @A@, @B@, @C@, @BIAS@, @RELU@


@torch.library.custom_op("ridgeline::@NAME@", mutates_args=())
def product(@PARAMETERS@) -> torch.Tensor:
    _check((@ARGUMENTS@), (_A, _B, _C[-1:]))
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

constexpr std::string_view kElementwise = R"code(_FORWARD = r'''
@FORWARD@'''
_forward = _compiled(_FORWARD, "ridgeline_elementwise")
_SHAPES, _RESULT = (@SHAPES@,), @RESULT@


def _by_torch(@ARGUMENTS@):
    return @EXPRESSION@


@torch.library.custom_op("ridgeline::@NAME@", mutates_args=())
def elementwise(@PARAMETERS@) -> torch.Tensor:
    _check((@ARGUMENTS@,), _SHAPES)
    return _run(_forward, _RESULT, @ARGUMENTS@)


@elementwise.register_fake
def _(@ARGUMENTS@):
    return @FIRST@.new_empty(_RESULT)


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward(ctx, gradient):
    with torch.enable_grad():
        operands = [each.detach().requires_grad_() for each in ctx.saved_tensors]
        result = _by_torch(*operands)
    return torch.autograd.grad(result, operands, gradient)


elementwise.register_autograd(_backward, setup_context=_save)
)code";

constexpr std::string_view kReduce = R"code(_FORWARD = r'''
@FORWARD@'''
_forward = _compiled(_FORWARD, "ridgeline_reduce")
_SHAPE, _RESULT, _DIM = @SHAPES@, @RESULT@, @DIM@


@torch.library.custom_op("ridgeline::@NAME@", mutates_args=())
def reduce(a: torch.Tensor) -> torch.Tensor:
    _check((a,), (_SHAPE,))
    return _run(_forward, _RESULT, a)


@reduce.register_fake
def _(a):
    return a.new_empty(_RESULT)


def _save(ctx, inputs, output):
    ctx.save_for_backward(@SAVED@)


def _backward(ctx, gradient):
    gradient = gradient.unsqueeze(_DIM).expand(_SHAPE)
@GRADIENT@


reduce.register_autograd(_backward, setup_context=_save)
)code";

using Tokens = std::vector<std::pair<std::string_view, std::string>>;

std::string filled(std::string_view rest, const Tokens& tokens) {
  std::string text = std::string(kModule) + std::string(rest);
  for (const auto& [token, value] : tokens) {
    replace_all(text, token, value);
  }
  return text;
}

/// Of letters, digits and underscores; different for each operation.
std::string operator_name(std::string_view operation) {
  std::string name;
  for (const char c : operation) {
    const bool is_kept = std::isalnum(static_cast<unsigned char>(c)) != 0;
    name += is_kept ? std::string(1, c) : c == ' ' ? "_" : fmt::format("_{:x}", static_cast<int>(c));
  }
  return name;
}

/// "(16, 512, 1003)" of the sizes of a matrix, for each batch.
std::string sizes_text(const MatmulShape& shape, std::int64_t rows, std::int64_t columns) {
  const std::string batches = shape.batches > 1 ? std::to_string(shape.batches) + ", " : "";
  return "(" + batches + std::to_string(rows) + ", " + std::to_string(columns) + ")";
}

base::Result<std::string> best_source(const MatmulShape& shape, const hardware::Device& device, int threads) {
  const auto construction = construct_matmul(shape, device, threads, 1);
  return construction ? base::Result<std::string>(matmul_source(construction->plans.front()))
                      : base::Result<std::string>(construction.error());
}

base::Result<std::string> product_module(const MatmulPlan& forward, const hardware::Device& device, int threads) {
  const MatmulShape& shape = forward.shape;
  const auto left = best_source({shape.rows, shape.depth, shape.columns, shape.batches}, device, threads);
  const auto right = best_source({shape.depth, shape.columns, shape.rows, shape.batches}, device, threads);
  if (!left || !right) {
    return left ? right.error() : left.error();
  }
  const std::string arguments = shape.bias ? "a, b, bias" : "a, b";
  const std::string product = shape.bias ? "a @ b + bias" : "a @ b";
  return filled(kProduct,
                {{"@MEANING@", fmt::format("`product({})` returns {}, all of float32 on the CPU. Its gradient's\n"
                                           "products are programs of the same construction, the best by prediction.",
                                           arguments, shape.relu ? "relu(" + product + ")" : product)},
                 {"@IMPORTS@", ""},
                 {"@OPERATION@", matmul_text(shape)},
                 {"@ARGUMENTS@", arguments},
                 {"@PARAMETERS@", shape.bias ? "a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor"
                                             : "a: torch.Tensor, b: torch.Tensor"},
                 {"@NAME@", operator_name(matmul_text(shape))},
                 {"@A@", sizes_text(shape, shape.rows, shape.depth)},
                 {"@B@", sizes_text(shape, shape.depth, shape.columns)},
                 {"@C@", sizes_text(shape, shape.rows, shape.columns)},
                 {"@BIAS@", shape.bias ? "True" : "False"},
                 {"@RELU@", shape.relu ? "True" : "False"},
                 {"@FORWARD@", matmul_source(forward)},
                 {"@LEFT@", *left},
                 {"@RIGHT@", *right}});
}

std::string elementwise_module(const ElementwisePlan& forward) {
  const ElementwiseShape& shape = forward.shape;
  std::vector<std::string> arguments;
  std::vector<std::string> parameters;
  std::vector<std::string> shapes;
  const std::string result = fmt::format("({}, {})", shape.rows, shape.columns);
  for (const Operand& operand : shape.expression.operands) {
    arguments.emplace_back(1, operand.name);
    parameters.push_back(fmt::format("{}: torch.Tensor", operand.name));
    shapes.push_back(operand.is_row ? fmt::format("({},)", shape.columns) : result);
  }
  const std::string names = fmt::format("{}", fmt::join(arguments, ", "));
  return filled(kElementwise,
                {{"@MEANING@", fmt::format("`elementwise({})` returns {}, all of float32\non the CPU, in one pass. Its "
                                           "gradient is torch's own, operation by operation.",
                                           names, python_text(shape.expression))},
                 {"@IMPORTS@", "from torch import exp, relu, sigmoid, tanh\nfrom torch.nn.functional import gelu\n"},
                 {"@OPERATION@", elementwise_text(shape)},
                 {"@ARGUMENTS@", names},
                 {"@FIRST@", arguments.front()},
                 {"@PARAMETERS@", fmt::format("{}", fmt::join(parameters, ", "))},
                 {"@EXPRESSION@", python_text(shape.expression)},
                 {"@NAME@", operator_name(elementwise_text(shape))},
                 {"@SHAPES@", fmt::format("{}", fmt::join(shapes, ", "))},
                 {"@RESULT@", result},
                 {"@FORWARD@", elementwise_source(forward)}});
}

std::string reduction_module(const ReductionPlan& forward) {
  const ReductionShape& shape = forward.shape;
  const bool is_max = shape.reduction == Reduction::kMax;
  const std::string name = reduction_name(shape.reduction);
  return filled(kReduce,
                {{"@MEANING@", fmt::format("`reduce(a)` returns torch.{}(a, dim={}), of float32 on the CPU.",
                                           is_max ? "amax" : name, shape.dim)},
                 {"@IMPORTS@", ""},
                 {"@OPERATION@", reduction_text(shape)},
                 {"@NAME@", operator_name(reduction_text(shape))},
                 {"@SHAPES@", fmt::format("({}, {})", shape.rows, shape.columns)},
                 {"@RESULT@", fmt::format("({},)", shape.results())},
                 {"@DIM@", std::to_string(shape.dim)},
                 {"@SAVED@", is_max ? "inputs[0], output" : ""},
                 {"@GRADIENT@", is_max                                ? "    a, result = ctx.saved_tensors\n"
                                                                        "    is_largest = a == result.unsqueeze(_DIM)\n"
                                                                        "    return gradient * is_largest / is_largest.sum(_DIM, keepdim=True)"
                                : shape.reduction == Reduction::kMean ? "    return gradient / _SHAPE[_DIM]"
                                                                      : "    return gradient.contiguous()"},
                 {"@FORWARD@", reduction_source(forward)}});
}

}  // namespace

base::Result<std::string> operator_module(const Plan& forward, const hardware::Device& device, int threads) {
  if (const auto* product = std::get_if<MatmulPlan>(&forward)) {
    return product_module(*product, device, threads);
  }
  const auto* elementwise = std::get_if<ElementwisePlan>(&forward);
  return elementwise != nullptr ? elementwise_module(*elementwise) : reduction_module(std::get<ReductionPlan>(forward));
}

}  // namespace ridgeline::kernels
