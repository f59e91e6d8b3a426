#include "operations/device/matrix_work.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace ridgeline::operations {

namespace {

using Sizes = std::vector<std::int64_t>;

double product(const Sizes& sizes, std::size_t from) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(std::min(from, sizes.size())), sizes.end(), 1.0,
                         [](double made, std::int64_t size) { return made * static_cast<double>(size); });
}

double read_by(const OperationCall& call) {
  double bytes = 0;
  for (const TensorShape* tensor : call.tensors()) {
    bytes += tensor->bytes();
  }
  return bytes;
}

OperationWork work(const TensorShape& like, double flops, double read, double written_elements) {
  return {OperationKind::kMatrix, like.dtype, flops, read, written_elements * dtype_bytes(like.dtype)};
}

/// mm, bmm, mv, dot and those that add to another tensor first: `first` is the left factor's argument.
std::optional<OperationWork> product_work(const OperationCall& call, std::size_t first) {
  const TensorShape* a = call.argument(first).tensor();
  const TensorShape* b = call.argument(first + 1).tensor();
  if (a == nullptr || b == nullptr || a->sizes.empty() || b->sizes.empty()) {
    return std::nullopt;
  }
  // Rows of the left times columns of the right, summed over its last but one dimension; a vector has one column.
  const std::size_t dims = b->sizes.size();
  const double columns = dims == 1 ? 1 : static_cast<double>(b->sizes.back());
  if (a->sizes.back() != (dims == 1 ? b->sizes[0] : b->sizes[dims - 2])) {
    return std::nullopt;
  }
  const double rows = a->elements() / std::max(1.0, static_cast<double>(a->sizes.back()));
  return work(*a, 2 * a->elements() * columns, read_by(call), rows * columns);
}

/// A number by dimension; one number is meant for all of them.
std::int64_t at(const Sizes& values, std::size_t dimension, std::int64_t otherwise) {
  if (values.empty()) {
    return otherwise;
  }
  return values.size() == 1 ? values[0] : dimension < values.size() ? values[dimension] : otherwise;
}

/// aten::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
std::optional<OperationWork> convolution_work(const OperationCall& call) {
  const TensorShape* input = call.argument(0).tensor();
  const TensorShape* weight = call.argument(1).tensor();
  if (input == nullptr || weight == nullptr || input->sizes.size() != weight->sizes.size() || input->sizes.size() < 3) {
    return std::nullopt;
  }
  const Sizes stride = call.argument(3).numbers();
  const Sizes padding = call.argument(4).numbers();
  const Sizes dilation = call.argument(5).numbers();
  const bool transposed = call.argument(6).is_true();
  const Sizes more = call.argument(7).numbers();
  const std::int64_t groups = std::max<std::int64_t>(1, call.argument(8).whole().value_or(1));
  double output = static_cast<double>(input->sizes[0]) *
                  static_cast<double>(transposed ? weight->sizes[1] * groups : weight->sizes[0]);
  for (std::size_t i = 2; i < input->sizes.size(); ++i) {
    const std::int64_t reach = at(dilation, i - 2, 1) * (weight->sizes[i] - 1);
    const std::int64_t step = std::max<std::int64_t>(1, at(stride, i - 2, 1));
    const std::int64_t border = 2 * at(padding, i - 2, 0);
    const std::int64_t size = transposed ? (input->sizes[i] - 1) * step - border + reach + at(more, i - 2, 0) + 1
                                         : (input->sizes[i] + border - reach - 1) / step + 1;
    output *= static_cast<double>(std::max<std::int64_t>(size, 0));
  }
  // Each element of the output, or of the input where it is transposed, meets the weights of its channel and group.
  const double sums = transposed ? input->elements() * product(weight->sizes, 1) : output * product(weight->sizes, 1);
  return work(*input, 2 * sums, read_by(call), output);
}

/// aten::convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
/// output_padding, groups, output_mask).
std::optional<OperationWork> convolution_backward_work(const OperationCall& call) {
  const TensorShape* gradient = call.argument(0).tensor();
  const TensorShape* input = call.argument(1).tensor();
  const TensorShape* weight = call.argument(2).tensor();
  const auto* mask = call.argument(10).list();
  if (gradient == nullptr || input == nullptr || weight == nullptr || mask == nullptr || mask->size() != 3) {
    return std::nullopt;
  }
  const TensorShape* small = call.argument(7).is_true() ? input : gradient;
  const double sums = small->elements() * product(weight->sizes, 1);
  const double flops = 2 * sums * ((*mask)[0].is_true() + (*mask)[1].is_true());
  const double channels = gradient->sizes.size() > 1 ? static_cast<double>(gradient->sizes[1]) : 1;
  const double written = ((*mask)[0].is_true() ? input->elements() : 0) +
                         ((*mask)[1].is_true() ? weight->elements() : 0) + ((*mask)[2].is_true() ? channels : 0);
  return work(*gradient, flops, read_by(call), written);
}

/// Query, key and value from argument `first` on, each (batch, heads, length, width). Forward computes two products,
/// backward five: scores again, and the gradients of scores, query, key and value.
std::optional<OperationWork> attention_work(const OperationCall& call, std::size_t first, bool backward) {
  const TensorShape* query = call.argument(first).tensor();
  const TensorShape* key = call.argument(first + 1).tensor();
  const TensorShape* value = call.argument(first + 2).tensor();
  if (query == nullptr || key == nullptr || value == nullptr || query->sizes.size() != 4 || key->sizes.size() != 4 ||
      value->sizes.size() != 4) {
    return std::nullopt;
  }
  const double rows = product(query->sizes, 0) / std::max(1.0, static_cast<double>(query->sizes[3]));
  const auto length = static_cast<double>(key->sizes[2]);
  const auto width = static_cast<double>(query->sizes[3]);
  const auto value_width = static_cast<double>(value->sizes[3]);
  const double by_width = 2 * rows * length * width;
  const double by_value = 2 * rows * length * value_width;
  if (backward) {
    return work(*query, 3 * by_width + 2 * by_value, read_by(call),
                query->elements() + key->elements() + value->elements());
  }
  return work(*query, by_width + by_value, read_by(call), rows * value_width);
}

/// aten::mkldnn_rnn_layer(input, weight_ih, weight_hh, ...), input (length, batch, width): each step multiplies with
/// both weights. Backward: gradients of weights and of what they met.
std::optional<OperationWork> recurrent_work(const OperationCall& call, bool backward) {
  const TensorShape* input = call.argument(0).tensor();
  const TensorShape* from_input = call.argument(1).tensor();
  const TensorShape* from_state = call.argument(2).tensor();
  if (input == nullptr || from_input == nullptr || from_state == nullptr || input->sizes.size() != 3 ||
      from_state->sizes.size() != 2) {
    return std::nullopt;
  }
  const double steps = static_cast<double>(input->sizes[0]) * static_cast<double>(input->sizes[1]);
  const double weights = from_input->elements() + from_state->elements();
  const double state = steps * static_cast<double>(from_state->sizes[1]);
  return work(*input, 2 * steps * weights * (backward ? 2 : 1), read_by(call),
              backward ? input->elements() + weights : state);
}

struct MatrixOperator {
  std::string_view name;
  std::optional<OperationWork> (*work)(const OperationCall& call);
};

template <std::size_t First>
std::optional<OperationWork> product_from(const OperationCall& call) {
  return product_work(call, First);
}

std::optional<OperationWork> attention(const OperationCall& call) { return attention_work(call, 0, false); }
std::optional<OperationWork> attention_backward(const OperationCall& call) { return attention_work(call, 1, true); }
std::optional<OperationWork> recurrent(const OperationCall& call) { return recurrent_work(call, false); }
std::optional<OperationWork> recurrent_backward(const OperationCall& call) { return recurrent_work(call, true); }

constexpr std::array kMatrixOperators = {
    MatrixOperator{"mm", product_from<0>},
    MatrixOperator{"bmm", product_from<0>},
    MatrixOperator{"mv", product_from<0>},
    MatrixOperator{"dot", product_from<0>},
    MatrixOperator{"addmm", product_from<1>},
    MatrixOperator{"addmv", product_from<1>},
    MatrixOperator{"baddbmm", product_from<1>},
    MatrixOperator{"convolution", convolution_work},
    MatrixOperator{"convolution_overrideable", convolution_work},
    MatrixOperator{"convolution_backward", convolution_backward_work},
    MatrixOperator{"convolution_backward_overrideable", convolution_backward_work},
    MatrixOperator{"_scaled_dot_product_flash_attention_for_cpu", attention},
    MatrixOperator{"_scaled_dot_product_flash_attention", attention},
    MatrixOperator{"_scaled_dot_product_efficient_attention", attention},
    MatrixOperator{"_scaled_dot_product_cudnn_attention", attention},
    MatrixOperator{"_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward},
    MatrixOperator{"_scaled_dot_product_flash_attention_backward", attention_backward},
    MatrixOperator{"_scaled_dot_product_efficient_attention_backward", attention_backward},
    MatrixOperator{"_scaled_dot_product_cudnn_attention_backward", attention_backward},
    MatrixOperator{"mkldnn_rnn_layer", recurrent},
    MatrixOperator{"mkldnn_rnn_layer_backward", recurrent_backward},
};

}  // namespace

bool is_matrix_operator(std::string_view operation) {
  return std::ranges::find(kMatrixOperators, operation, &MatrixOperator::name) != kMatrixOperators.end();
}

std::optional<OperationWork> matrix_work(std::string_view operation, const OperationCall& call) {
  const auto* const found = std::ranges::find(kMatrixOperators, operation, &MatrixOperator::name);
  return found == kMatrixOperators.end() ? std::nullopt : found->work(call);
}

double least_share_of_flops(const OperationCall& call) {
  if (!call.operation.starts_with("aten::convolution")) {
    return 1;
  }
  const bool backward = call.operation.starts_with("aten::convolution_backward");
  const TensorShape* weight = call.argument(backward ? 2 : 1).tensor();
  const Sizes stride = call.argument(backward ? 4 : 3).numbers();
  double share = 1;
  for (std::size_t i = 2; weight != nullptr && i < weight->sizes.size(); ++i) {
    const std::int64_t width = std::max<std::int64_t>(1, weight->sizes[i]);
    const std::int64_t phases = std::clamp<std::int64_t>(at(stride, i - 2, 1), 1, width);
    share *= static_cast<double>(phases) / static_cast<double>(width);
  }
  return share;
}

}  // namespace ridgeline::operations
