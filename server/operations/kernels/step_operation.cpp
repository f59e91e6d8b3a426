#include "operations/kernels/step_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "operations/kernels/sizes.h"

namespace ridgeline::operations {

namespace {

using Sizes = std::vector<std::int64_t>;

/// The argument, where it is a tensor of float32 on the CPU, not empty and no larger than programs can be; else null.
const TensorShape* operand(const OperationCall& call, std::size_t index) {
  const TensorShape* tensor = call.argument(index).tensor();
  const bool is_possible = tensor != nullptr && tensor->dtype == "float32" && tensor->device == "cpu" &&
                           tensor->elements() <= static_cast<double>(kMostElements) &&
                           std::ranges::all_of(tensor->sizes, [](std::int64_t size) { return size > 0; });
  return is_possible ? tensor : nullptr;
}

/// Nothing for sizes that parse_operation() refuses.
std::optional<StepOperation> made(const std::string& text, std::vector<std::size_t> operands) {
  auto operation = parse_operation(text);
  return operation ? std::optional(StepOperation{std::move(*operation), std::move(operands)}) : std::nullopt;
}

std::optional<StepOperation> product(const OperationCall& call) {
  const bool has_bias = call.operation == "aten::addmm";
  const std::size_t first = has_bias ? 1 : 0;
  const TensorShape* a = operand(call, first);
  const TensorShape* b = operand(call, first + 1);
  if (a == nullptr || b == nullptr || !call.keywords.empty() || a->sizes.size() != b->sizes.size()) {
    return std::nullopt;
  }
  if (a->sizes.size() == 3 && a->sizes[0] > 1 && !has_bias) {
    return made(fmt::format("bmm {} {} {} {}", a->sizes[0], a->sizes[1], b->sizes[2], a->sizes[2]), {0, 1});
  }
  if (a->sizes.size() != 2) {
    return std::nullopt;
  }
  const bool is_transposed = !b->is_contiguous() && b->strides[0] == 1 && b->strides[1] == b->sizes[0];
  const std::string text =
      fmt::format("{} {} {} {}", is_transposed ? "linear" : "matmul", a->sizes[0], b->sizes[1], a->sizes[1]);
  if (!has_bias) {
    return made(text, {0, 1});
  }
  const TensorShape* bias = operand(call, 0);
  return bias != nullptr && bias->sizes == Sizes{b->sizes[1]} ? made(text + " + bias", {1, 2, 0}) : std::nullopt;
}

/// The number that all dimensions have; nothing where they differ.
std::optional<std::int64_t> same_number(const OperationCall& call, std::size_t index) {
  const Sizes numbers = call.argument(index).numbers();
  const bool is_same = !numbers.empty() && std::ranges::count(numbers, numbers.front()) == std::ssize(numbers);
  return is_same ? std::optional(numbers.front()) : std::nullopt;
}

/// aten::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
std::optional<StepOperation> convolution(const OperationCall& call) {
  const TensorShape* x = operand(call, 0);
  const TensorShape* w = operand(call, 1);
  const auto stride = same_number(call, 3);
  const auto padding = same_number(call, 4);
  if (x == nullptr || w == nullptr || x->sizes.size() != 4 || w->sizes.size() != 4 || w->sizes[2] != w->sizes[3] ||
      w->sizes[1] != x->sizes[1] || !stride || !padding || same_number(call, 5) != 1 || call.argument(6).is_true() ||
      same_number(call, 8) != 1) {
    return std::nullopt;
  }
  const TensorShape* bias = operand(call, 2);
  if (!call.argument(2).is_none() && (bias == nullptr || bias->sizes != Sizes{w->sizes[0]})) {
    return std::nullopt;
  }
  return made(fmt::format("conv {} {} {} {} {} {} stride {} padding {}{}", x->sizes[0], x->sizes[1], x->sizes[2],
                          x->sizes[3], w->sizes[0], w->sizes[2], *stride, *padding, bias == nullptr ? "" : " + bias"),
              bias == nullptr ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0, 1, 2});
}

/// As a matrix of which the last `columns_of` dimensions are the columns: its sizes.
std::string matrix_sizes(const TensorShape& tensor, std::size_t columns_of) {
  const auto middle = tensor.sizes.end() - static_cast<std::ptrdiff_t>(columns_of);
  const auto product_of = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  return fmt::format("{} {}", product_of(tensor.sizes.begin(), middle), product_of(middle, tensor.sizes.end()));
}

struct ElementFunction {
  std::string_view operation;
  std::string_view overload;
  std::string_view expression;
  std::size_t operands;
};

constexpr std::array kElementFunctions = {
    ElementFunction{"aten::relu", "default", "relu(x)", 1},
    ElementFunction{"aten::sigmoid", "default", "sigmoid(x)", 1},
    ElementFunction{"aten::tanh", "default", "tanh(x)", 1},
    ElementFunction{"aten::exp", "default", "exp(x)", 1},
    ElementFunction{"aten::gelu", "default", "gelu(x)", 1},
    ElementFunction{"aten::add", "Tensor", "x + y", 2},
    ElementFunction{"aten::sub", "Tensor", "x - y", 2},
    ElementFunction{"aten::mul", "Tensor", "x * y", 2},
    ElementFunction{"aten::div", "Tensor", "x / y", 2},
};

std::optional<StepOperation> elementwise(const OperationCall& call) {
  const auto function = std::ranges::find_if(kElementFunctions, [&](const ElementFunction& one) {
    return one.operation == call.operation && one.overload == call.overload;
  });
  if (function == kElementFunctions.end() || call.arguments.size() != function->operands || !call.keywords.empty()) {
    return std::nullopt;
  }
  std::vector<std::size_t> operands(function->operands);
  std::iota(operands.begin(), operands.end(), std::size_t{0});
  const TensorShape* first = operand(call, 0);
  const bool are_alike = first != nullptr && !first->sizes.empty() && std::ranges::all_of(operands, [&](std::size_t i) {
                           const TensorShape* one = operand(call, i);
                           return one != nullptr && one->sizes == first->sizes && one->is_contiguous();
                         });
  return are_alike ? made(fmt::format("elementwise {} = {}", matrix_sizes(*first, 1), function->expression), operands)
                   : std::nullopt;
}

/// (input, dimensions, keepdim) of sum, mean and amax.
std::optional<StepOperation> reduction(const OperationCall& call) {
  const std::string_view name = call.operation == "aten::amax"                                    ? "max"
                                : call.operation == "aten::sum" && call.overload == "dim_IntList" ? "sum"
                                : call.operation == "aten::mean" && call.overload == "dim"        ? "mean"
                                                                                                  : "";
  const TensorShape* a = operand(call, 0);
  if (name.empty() || a == nullptr || !a->is_contiguous() || !call.keywords.empty()) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::int64_t>(a->sizes.size());
  Sizes dims = call.argument(1).numbers();
  for (std::int64_t& dim : dims) {
    dim += dim < 0 ? rank : 0;
  }
  std::ranges::sort(dims);
  const auto count = static_cast<std::int64_t>(dims.size());
  if (count == 0 || count >= rank || dims.back() - dims.front() != count - 1) {
    return std::nullopt;
  }
  const bool is_last = dims.back() == rank - 1;
  if (!is_last && dims.front() != 0) {
    return std::nullopt;
  }
  const auto columns_of = static_cast<std::size_t>(is_last ? count : rank - count);
  return made(fmt::format("reduce {} {} dim {}", name, matrix_sizes(*a, columns_of), is_last ? 1 : 0), {0});
}

}  // namespace

std::optional<StepOperation> step_operation(const OperationCall& call) {
  if (call.operation == "aten::mm" || call.operation == "aten::addmm" || call.operation == "aten::bmm") {
    return call.overload == "default" ? product(call) : std::nullopt;
  }
  if (call.operation == "aten::convolution") {
    return convolution(call);
  }
  auto found = elementwise(call);
  return found ? found : reduction(call);
}

}  // namespace ridgeline::operations
