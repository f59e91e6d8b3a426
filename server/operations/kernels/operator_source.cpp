#include "operations/kernels/operator_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "operations/kernels/convolution.h"
#include "operations/kernels/kernel_source.h"
#include "operations/kernels/matmul_source.h"

namespace ridgeline::operations {

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
def @FUNCTION@(@PARAMETERS@) -> torch.Tensor:
    _check((@ARGUMENTS@), (_A, _B, _C[-1:]))
    return _run(_forward, _C, @ARGUMENTS@)


@torch.library.custom_op("ridgeline::@NAME@_gradient", mutates_args=())
def _gradient(gradient: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return _run(_left_gradient, _A, gradient, @B_OF_LEFT@), _run(_right_gradient, _B, @OF_RIGHT@)


@@FUNCTION@.register_fake
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


@FUNCTION@.register_autograd(_backward, setup_context=_save)
)code";

constexpr std::string_view kOther = R"code(_FORWARD = r'''
@FORWARD@'''
_forward = _compiled(_FORWARD, "ridgeline_@FUNCTION@")
_SHAPES, _RESULT = (@SHAPES@,), @RESULT@
@MORE@

@torch.library.custom_op("ridgeline::@NAME@", mutates_args=())
def @FUNCTION@(@PARAMETERS@) -> torch.Tensor:
    _check((@ARGUMENTS@,), _SHAPES)
    return _run(_forward, _RESULT, @ARGUMENTS@)


@@FUNCTION@.register_fake
def _(@ARGUMENTS@):
    return @FIRST@.new_empty(_RESULT)


def _save(ctx, inputs, output):
    ctx.save_for_backward(@SAVED@)


def _backward(ctx, gradient):
@GRADIENT@


@FUNCTION@.register_autograd(_backward, setup_context=_save)
)code";

using Tokens = std::vector<std::pair<std::string_view, std::string>>;

std::string filled(std::string_view rest, const Tokens& tokens) {
  std::string text = std::string(kModule) + std::string(rest);
  for (const auto& [token, value] : tokens) {
    replace_all(text, token, value);
  }
  return text;
}

constexpr std::string_view kInputGradient = R"code(
_INPUT_GRADIENT = r'''
@INPUT@'''
_input_gradient = _compiled(_INPUT_GRADIENT, "ridgeline_conv")


@torch.library.custom_op("ridgeline::@NAME@_gradient", mutates_args=())
def _gradient(gradient: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return _run(_input_gradient, _SHAPES[0], gradient, w.flip(2, 3).transpose(0, 1))


@_gradient.register_fake
def _(gradient, w):
    return w.new_empty(_SHAPES[0])
)code";

/// "(16, 512, 1003)" of the sizes of a matrix, for each batch.
std::string sizes_text(const MatmulShape& shape, std::int64_t rows, std::int64_t columns) {
  const std::string batches = shape.batches > 1 ? std::to_string(shape.batches) + ", " : "";
  return "(" + batches + std::to_string(rows) + ", " + std::to_string(columns) + ")";
}

base::Result<std::string> best_source(const MatmulShape& shape, const Device& device, int threads) {
  const auto construction = construct_matmul(shape, device, threads, 1);
  return construction ? base::Result<std::string>(matmul_source(construction->plans.front()))
                      : base::Result<std::string>(construction.error());
}

base::Result<std::string> product_module(const MatmulPlan& forward, const Device& device, int threads) {
  const MatmulShape& shape = forward.shape;
  MatmulShape of_left{shape.rows, shape.depth, shape.columns, shape.batches};
  // The transposed right matrix is read as it is stored where the forward product has it transposed, and else where
  // there is only one.
  of_left.transposed = !shape.transposed && shape.batches == 1;
  const MatmulShape of_right = shape.transposed ? MatmulShape{shape.columns, shape.depth, shape.rows}
                                                : MatmulShape{shape.depth, shape.columns, shape.rows, shape.batches};
  const auto left = best_source(of_left, device, threads);
  const auto right = best_source(of_right, device, threads);
  if (!left || !right) {
    return left ? right.error() : left.error();
  }
  const std::string function = shape.transposed ? "linear" : "product";
  const std::string arguments = shape.bias ? "a, b, bias" : "a, b";
  const std::string product = std::string(shape.transposed ? "a @ b.T" : "a @ b") + (shape.bias ? " + bias" : "");
  return filled(kProduct,
                {{"@MEANING@", fmt::format("`{}({})` returns {}, all of float32 on the CPU. Its gradient's\n"
                                           "products are programs of the same construction, the best by prediction.",
                                           function, arguments, shape.relu ? "relu(" + product + ")" : product)},
                 {"@IMPORTS@", ""},
                 {"@OPERATION@", matmul_text(shape)},
                 {"@ARGUMENTS@", arguments},
                 {"@PARAMETERS@", shape.bias ? "a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor"
                                             : "a: torch.Tensor, b: torch.Tensor"},
                 {"@NAME@", operator_name(matmul_text(shape))},
                 {"@A@", sizes_text(shape, shape.rows, shape.depth)},
                 {"@B@", shape.transposed ? sizes_text(shape, shape.columns, shape.depth)
                                          : sizes_text(shape, shape.depth, shape.columns)},
                 {"@FUNCTION@", function},
                 {"@B_OF_LEFT@", shape.transposed || shape.batches == 1 ? "b" : "b.mT"},
                 {"@OF_RIGHT@", shape.transposed ? "gradient.mT, a" : "a.mT, gradient"},
                 {"@C@", sizes_text(shape, shape.rows, shape.columns)},
                 {"@BIAS@", shape.bias ? "True" : "False"},
                 {"@RELU@", shape.relu ? "True" : "False"},
                 {"@FORWARD@", matmul_source(forward)},
                 {"@LEFT@", *left},
                 {"@RIGHT@", *right}});
}

/// An operator whose gradient is computed by torch, but for what `more` defines.
struct OtherModule {
  std::string operation;
  std::string source;
  std::string function;    ///< its name, in Python and behind "ridgeline_" in the source
  std::string expression;  ///< what torch would compute
  std::string note;        ///< what else its description says
  std::string imports = {};
  std::vector<std::string> operands;  ///< their names
  std::vector<std::string> shapes;    ///< as Python writes them
  std::string result;                 ///< its shape, likewise
  std::string saved;                  ///< for the backward pass, from `inputs` and `output`
  std::string gradient;               ///< body of the backward pass: from `gradient` and `ctx.saved_tensors`
  std::string more = {};              ///< that the backward pass needs
};

std::string other_module(const OtherModule& module) {
  std::vector<std::string> parameters;
  for (const std::string& operand : module.operands) {
    parameters.push_back(operand + ": torch.Tensor");
  }
  const std::string arguments = fmt::format("{}", fmt::join(module.operands, ", "));
  return filled(kOther, {{"@MEANING@", fmt::format("`{}({})` returns {}.\nOperands are of float32, on the CPU.{}",
                                                   module.function, arguments, module.expression, module.note)},
                         {"@IMPORTS@", module.imports},
                         {"@OPERATION@", module.operation},
                         {"@MORE@", module.more},
                         {"@FUNCTION@", module.function},
                         {"@ARGUMENTS@", arguments},
                         {"@FIRST@", module.operands.front()},
                         {"@PARAMETERS@", fmt::format("{}", fmt::join(parameters, ", "))},
                         {"@NAME@", operator_name(module.operation)},
                         {"@SHAPES@", fmt::format("{}", fmt::join(module.shapes, ", "))},
                         {"@RESULT@", module.result},
                         {"@SAVED@", module.saved},
                         {"@GRADIENT@", module.gradient},
                         {"@FORWARD@", module.source}});
}

std::string elementwise_module(const ElementwisePlan& forward) {
  const ElementwiseShape& shape = forward.shape;
  OtherModule module{.operation = elementwise_text(shape),
                     .source = elementwise_source(forward),
                     .function = "elementwise",
                     .expression = python_text(shape.expression),
                     .note = " Its gradient is torch's own, operation by operation.",
                     .imports = "from torch import exp, relu, sigmoid, tanh\nfrom torch.nn.functional import gelu\n",
                     .operands = {},
                     .shapes = {},
                     .result = fmt::format("({}, {})", shape.rows, shape.columns),
                     .saved = "*inputs",
                     .gradient = ""};
  for (const Operand& operand : shape.expression.operands) {
    module.operands.emplace_back(1, operand.name);
    module.shapes.push_back(operand.is_row ? fmt::format("({},)", shape.columns) : module.result);
  }
  module.gradient = fmt::format(
      "    with torch.enable_grad():\n"
      "        operands = [each.detach().requires_grad_() for each in ctx.saved_tensors]\n"
      "        {}, = operands\n"
      "        result = {}\n"
      "    return torch.autograd.grad(result, operands, gradient)",
      fmt::join(module.operands, ", "), module.expression);
  return other_module(module);
}

std::string reduction_gradient(const ReductionShape& shape) {
  const std::string spread = fmt::format("    gradient = gradient.unsqueeze({}).expand(_SHAPES[0])\n", shape.dim);
  switch (shape.reduction) {
    case Reduction::kSum:
      return spread + "    return gradient.contiguous()";
    case Reduction::kMean:
      return spread + fmt::format("    return gradient / _SHAPES[0][{}]", shape.dim);
    default:  // The largest share it, as torch's own gradient has it.
      return spread + fmt::format(
                          "    a, result = ctx.saved_tensors\n"
                          "    is_largest = a == result.unsqueeze({0})\n"
                          "    return gradient * is_largest / is_largest.sum({0}, keepdim=True)",
                          shape.dim);
  }
}

std::string reduction_module(const ReductionPlan& forward) {
  const ReductionShape& shape = forward.shape;
  const bool is_max = shape.reduction == Reduction::kMax;
  return other_module(
      {.operation = reduction_text(shape),
       .source = reduction_source(forward),
       .function = "reduce",
       .expression = fmt::format("torch.{}(a, dim={})", is_max ? "amax" : reduction_name(shape.reduction), shape.dim),
       .note = "",
       .operands = {"a"},
       .shapes = {fmt::format("({}, {})", shape.rows, shape.columns)},
       .result = fmt::format("({},)", shape.results()),
       .saved = is_max ? "inputs[0], output" : "",
       .gradient = reduction_gradient(shape)});
}

/// The gradient of a convolution's images: that of the results, convolved with the flipped weights. Nothing where its
/// elements would lie apart, or its padding be negative.
std::optional<MatmulShape> input_gradient(const MatmulShape& shape) {
  const Convolution& conv = *shape.convolution;
  if (conv.stride != 1 || conv.padding >= conv.kernel) {
    return std::nullopt;
  }
  MatmulShape gradient;
  gradient.batches = shape.batches;
  gradient.rows = conv.channels;
  gradient.columns = conv.height * conv.width;
  gradient.depth = shape.rows * conv.kernel * conv.kernel;
  gradient.convolution = Convolution{shape.rows, conv.output_height(),          conv.output_width(), conv.kernel,
                                     1,          conv.kernel - 1 - conv.padding};
  return gradient;
}

/// Body of a convolution's backward pass. `own_input`: `_gradient` computes that of the images.
std::string convolution_gradient(const MatmulShape& shape, bool own_input) {
  const Convolution& conv = *shape.convolution;
  return fmt::format(
      "    x, w, *outputs = ctx.saved_tensors\n"
      "    if outputs:\n"
      "        gradient = gradient * (outputs[0] > 0)\n"
      "    image, weight, bias = torch.ops.aten.convolution_backward(\n"
      "        gradient, x, w, {2}, [{0}, {0}], [{1}, {1}], [1, 1], False, [0, 0], 1, [{4}, True, {3}]\n"
      "    )\n"
      "{5}    return (image, weight{6})",
      conv.stride, conv.padding, shape.bias ? fmt::format("[{}]", shape.rows) : "None", shape.bias ? "True" : "False",
      own_input ? "False" : "True",
      own_input ? "    image = _gradient(gradient, w) if ctx.needs_input_grad[0] else None\n" : "",
      shape.bias ? ", bias" : "");
}

base::Result<std::string> convolution_module(const MatmulPlan& forward, const Device& device, int threads) {
  const MatmulShape& shape = forward.shape;
  const Convolution& conv = *shape.convolution;
  const std::string call =
      fmt::format("conv2d(x, w, {}stride={}, padding={})", shape.bias ? "bias, " : "", conv.stride, conv.padding);
  OtherModule module{
      .operation = convolution_text(shape),
      .source = matmul_source(forward),
      .function = "conv",
      .expression = shape.relu ? "relu(" + call + ")" : call,
      .note = " Its gradients are torch's own.",
      .operands = {"x", "w"},
      .shapes = {fmt::format("({}, {}, {}, {})", shape.batches, conv.channels, conv.height, conv.width),
                 fmt::format("({}, {}, {}, {})", shape.rows, conv.channels, conv.kernel, conv.kernel)},
      .result = fmt::format("({}, {}, {}, {})", shape.batches, shape.rows, conv.output_height(), conv.output_width()),
      .saved = shape.relu ? "*inputs[:2], output" : "*inputs[:2]",
      .gradient = ""};
  if (shape.bias) {
    module.operands.emplace_back("bias");
    module.shapes.push_back(fmt::format("({},)", shape.rows));
  }
  const auto gradient = input_gradient(shape);
  module.gradient = convolution_gradient(shape, gradient.has_value());
  if (gradient) {
    const auto source = best_source(*gradient, device, threads);
    if (!source) {
      return source.error();
    }
    module.note =
        " The gradient of x is a program of the same\nconstruction, the best by prediction; the others are torch's "
        "own.";
    module.more = kInputGradient;
    replace_all(module.more, "@INPUT@", *source);
  }
  return other_module(module);
}

}  // namespace

std::string operator_name(std::string_view operation) {
  std::string name;
  for (const char c : operation) {
    const bool is_kept = std::isalnum(static_cast<unsigned char>(c)) != 0;
    name += is_kept ? std::string(1, c) : c == ' ' ? "_" : fmt::format("_{:x}", static_cast<int>(c));
  }
  return name;
}

base::Result<std::string> operator_module(const Plan& forward, const Device& device, int threads) {
  if (const auto* product = std::get_if<MatmulPlan>(&forward)) {
    return product->shape.convolution ? convolution_module(*product, device, threads)
                                      : product_module(*product, device, threads);
  }
  if (std::holds_alternative<CudaPlan>(forward)) {
    return base::error("operators of PyTorch are written for processors; give a file that does not end in .py");
  }
  const auto* elementwise = std::get_if<ElementwisePlan>(&forward);
  return elementwise != nullptr ? elementwise_module(*elementwise) : reduction_module(std::get<ReductionPlan>(forward));
}

}  // namespace ridgeline::operations
