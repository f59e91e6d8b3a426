#include "operations/device/operation_work.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "operations/device/matrix_work.h"

namespace ridgeline::operations {

namespace {

/// What is written besides what is read.
enum class ResultShape : std::uint8_t {
  kBroadcast,  ///< a new tensor of the shape that its inputs are broadcast to; in place: the first one
  kFirst,      ///< a new tensor like the first one
  kSecond,     ///< likewise, like the second one
  kReduced,    ///< little: one element by row of the last dimension at most
  kLists,      ///< in place or new: all tensors of the first list
  kAllLists,   ///< in place, all lists but the second one: gradients are only read (fused optimizers)
  kSum,        ///< a new tensor of all inputs
  kGathered,   ///< rows of the first one by the second one's indices: as many are read as are written
  kPicked,     ///< little: of the first one as many elements are read as the second one has
  kSpread,     ///< a new tensor like the second one, which is not read
  kScattered,  ///< a new tensor whose size stands in the arguments: only what is read is known
  kOnly,       ///< nothing is read: the first tensor, or what the sizes in the first argument say, is filled
  kPooled,     ///< windows of the last two dimensions: of arguments kernel, stride and padding from the second on
  kNothing,
};

struct Operator {
  std::string_view name;
  OperationKind kind;
  double flops;  ///< by element of the largest tensor
  ResultShape result;
};

constexpr auto kElementwise = OperationKind::kElementwise;
constexpr auto kReduction = OperationKind::kReduction;
constexpr auto kData = OperationKind::kData;
constexpr auto kView = OperationKind::kView;

// Without "aten::" and the underscore of in-place variants. Operations by element: those of the formulas in torch's
// documentation of each operator.
constexpr std::array kOperators = {
    Operator{"add", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"sub", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"rsub", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"mul", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"div", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"floor_divide", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"remainder", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"pow", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"addcmul", kElementwise, 3, ResultShape::kBroadcast},
    Operator{"addcdiv", kElementwise, 3, ResultShape::kBroadcast},
    Operator{"lerp", kElementwise, 3, ResultShape::kBroadcast},
    Operator{"maximum", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"minimum", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"where", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"eq", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"ne", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"lt", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"le", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"gt", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"ge", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"bitwise_and", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"bitwise_or", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"bitwise_not", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"logical_and", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"logical_not", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"masked_fill", kElementwise, 1, ResultShape::kFirst},
    Operator{"neg", kElementwise, 1, ResultShape::kFirst},
    Operator{"abs", kElementwise, 1, ResultShape::kFirst},
    Operator{"sign", kElementwise, 1, ResultShape::kFirst},
    Operator{"sqrt", kElementwise, 1, ResultShape::kFirst},
    Operator{"rsqrt", kElementwise, 2, ResultShape::kFirst},
    Operator{"reciprocal", kElementwise, 1, ResultShape::kFirst},
    Operator{"exp", kElementwise, 1, ResultShape::kFirst},
    Operator{"log", kElementwise, 1, ResultShape::kFirst},
    Operator{"log1p", kElementwise, 1, ResultShape::kFirst},
    Operator{"sin", kElementwise, 1, ResultShape::kFirst},
    Operator{"cos", kElementwise, 1, ResultShape::kFirst},
    Operator{"erf", kElementwise, 1, ResultShape::kFirst},
    Operator{"tanh", kElementwise, 1, ResultShape::kFirst},
    Operator{"sigmoid", kElementwise, 3, ResultShape::kFirst},
    Operator{"relu", kElementwise, 1, ResultShape::kFirst},
    Operator{"leaky_relu", kElementwise, 2, ResultShape::kFirst},
    Operator{"elu", kElementwise, 3, ResultShape::kFirst},
    Operator{"gelu", kElementwise, 5, ResultShape::kFirst},
    Operator{"silu", kElementwise, 4, ResultShape::kFirst},
    Operator{"hardtanh", kElementwise, 2, ResultShape::kFirst},
    Operator{"softplus", kElementwise, 3, ResultShape::kFirst},
    Operator{"clamp", kElementwise, 2, ResultShape::kFirst},
    Operator{"clamp_min", kElementwise, 1, ResultShape::kFirst},
    Operator{"tanh_backward", kElementwise, 3, ResultShape::kBroadcast},
    Operator{"sigmoid_backward", kElementwise, 3, ResultShape::kBroadcast},
    Operator{"threshold_backward", kElementwise, 1, ResultShape::kBroadcast},
    Operator{"leaky_relu_backward", kElementwise, 2, ResultShape::kBroadcast},
    Operator{"elu_backward", kElementwise, 3, ResultShape::kBroadcast},
    Operator{"gelu_backward", kElementwise, 10, ResultShape::kBroadcast},
    Operator{"silu_backward", kElementwise, 6, ResultShape::kBroadcast},
    Operator{"hardtanh_backward", kElementwise, 2, ResultShape::kBroadcast},
    Operator{"native_dropout", kElementwise, 2, ResultShape::kFirst},
    Operator{"native_dropout_backward", kElementwise, 2, ResultShape::kBroadcast},
    Operator{"binary_cross_entropy_with_logits", kElementwise, 5, ResultShape::kReduced},
    Operator{"mse_loss", kElementwise, 3, ResultShape::kReduced},
    Operator{"mse_loss_backward", kElementwise, 3, ResultShape::kBroadcast},
    Operator{"smooth_l1_loss", kElementwise, 5, ResultShape::kReduced},
    Operator{"smooth_l1_loss_backward", kElementwise, 5, ResultShape::kBroadcast},
    Operator{"_foreach_add", kElementwise, 1, ResultShape::kLists},
    Operator{"_foreach_sub", kElementwise, 1, ResultShape::kLists},
    Operator{"_foreach_mul", kElementwise, 1, ResultShape::kLists},
    Operator{"_foreach_div", kElementwise, 1, ResultShape::kLists},
    Operator{"_foreach_lerp", kElementwise, 3, ResultShape::kLists},
    Operator{"_foreach_addcmul", kElementwise, 3, ResultShape::kLists},
    Operator{"_foreach_addcdiv", kElementwise, 3, ResultShape::kLists},
    Operator{"_foreach_sqrt", kElementwise, 1, ResultShape::kLists},
    Operator{"_foreach_neg", kElementwise, 1, ResultShape::kLists},
    Operator{"_foreach_norm", kReduction, 2, ResultShape::kReduced},
    Operator{"_fused_adam", kElementwise, 12, ResultShape::kAllLists},
    Operator{"_fused_adamw", kElementwise, 12, ResultShape::kAllLists},
    Operator{"_fused_sgd", kElementwise, 4, ResultShape::kAllLists},
    Operator{"sum", kReduction, 1, ResultShape::kReduced},
    Operator{"mean", kReduction, 1, ResultShape::kReduced},
    Operator{"amax", kReduction, 1, ResultShape::kReduced},
    Operator{"max", kReduction, 1, ResultShape::kReduced},
    Operator{"min", kReduction, 1, ResultShape::kReduced},
    Operator{"argmax", kReduction, 1, ResultShape::kReduced},
    Operator{"aminmax", kReduction, 2, ResultShape::kReduced},
    Operator{"topk", kReduction, 1, ResultShape::kReduced},
    Operator{"prod", kReduction, 1, ResultShape::kReduced},
    Operator{"all", kReduction, 1, ResultShape::kReduced},
    Operator{"any", kReduction, 1, ResultShape::kReduced},
    Operator{"var", kReduction, 3, ResultShape::kReduced},
    Operator{"linalg_vector_norm", kReduction, 2, ResultShape::kReduced},
    Operator{"logsumexp", kReduction, 2, ResultShape::kReduced},
    Operator{"cumsum", kReduction, 1, ResultShape::kFirst},
    Operator{"_softmax", kReduction, 4, ResultShape::kFirst},
    Operator{"_safe_softmax", kReduction, 4, ResultShape::kFirst},
    Operator{"_log_softmax", kReduction, 4, ResultShape::kFirst},
    Operator{"_softmax_backward_data", kReduction, 4, ResultShape::kFirst},
    Operator{"_log_softmax_backward_data", kReduction, 4, ResultShape::kFirst},
    Operator{"nll_loss_forward", kReduction, 0, ResultShape::kPicked},
    Operator{"nll_loss_backward", kReduction, 0, ResultShape::kSpread},
    Operator{"native_layer_norm", kReduction, 7, ResultShape::kFirst},
    Operator{"native_layer_norm_backward", kReduction, 12, ResultShape::kFirst},
    Operator{"native_group_norm", kReduction, 7, ResultShape::kFirst},
    Operator{"native_group_norm_backward", kReduction, 12, ResultShape::kFirst},
    Operator{"native_batch_norm", kReduction, 7, ResultShape::kFirst},
    Operator{"native_batch_norm_backward", kReduction, 12, ResultShape::kFirst},
    Operator{"cudnn_batch_norm", kReduction, 7, ResultShape::kFirst},
    Operator{"cudnn_batch_norm_backward", kReduction, 12, ResultShape::kFirst},
    Operator{"_native_batch_norm_legit", kReduction, 7, ResultShape::kFirst},
    Operator{"_fused_rms_norm", kReduction, 4, ResultShape::kFirst},
    Operator{"max_pool2d_with_indices", kReduction, 1, ResultShape::kPooled},
    Operator{"max_pool2d_with_indices_backward", kReduction, 0, ResultShape::kSecond},
    Operator{"avg_pool2d", kReduction, 1, ResultShape::kPooled},
    Operator{"avg_pool2d_backward", kReduction, 1, ResultShape::kSecond},
    Operator{"avg_pool3d", kReduction, 1, ResultShape::kNothing},
    Operator{"avg_pool3d_backward", kReduction, 1, ResultShape::kSecond},
    Operator{"_adaptive_avg_pool2d", kReduction, 1, ResultShape::kNothing},
    Operator{"_adaptive_avg_pool2d_backward", kReduction, 1, ResultShape::kSecond},
    Operator{"clone", kData, 0, ResultShape::kFirst},
    Operator{"copy", kData, 0, ResultShape::kNothing},
    Operator{"_to_copy", kData, 0, ResultShape::kFirst},
    Operator{"contiguous", kData, 0, ResultShape::kFirst},
    Operator{"cat", kData, 0, ResultShape::kSum},
    Operator{"stack", kData, 0, ResultShape::kSum},
    Operator{"tril", kData, 0, ResultShape::kFirst},
    Operator{"triu", kData, 0, ResultShape::kFirst},
    Operator{"flip", kData, 0, ResultShape::kFirst},
    Operator{"roll", kData, 0, ResultShape::kFirst},
    Operator{"embedding", kData, 0, ResultShape::kGathered},
    Operator{"index_select", kData, 0, ResultShape::kGathered},
    Operator{"embedding_dense_backward", kData, 0, ResultShape::kScattered},
    Operator{"select_backward", kData, 0, ResultShape::kScattered},
    Operator{"upsample_nearest2d", kData, 0, ResultShape::kScattered},
    Operator{"upsample_nearest2d_backward", kData, 0, ResultShape::kScattered},
    Operator{"slice_backward", kData, 0, ResultShape::kScattered},
    Operator{"zero", kData, 0, ResultShape::kOnly},
    Operator{"fill", kData, 0, ResultShape::kOnly},
    Operator{"zeros", kData, 0, ResultShape::kOnly},
    Operator{"ones", kData, 0, ResultShape::kOnly},
    Operator{"full", kData, 0, ResultShape::kOnly},
    Operator{"zeros_like", kData, 0, ResultShape::kOnly},
    Operator{"ones_like", kData, 0, ResultShape::kOnly},
    Operator{"full_like", kData, 0, ResultShape::kOnly},
    Operator{"new_zeros", kData, 0, ResultShape::kScattered},
    Operator{"detach", kView, 0, ResultShape::kNothing},
    Operator{"view", kView, 0, ResultShape::kNothing},
    Operator{"_unsafe_view", kView, 0, ResultShape::kNothing},
    Operator{"_reshape_alias", kView, 0, ResultShape::kNothing},
    Operator{"as_strided", kView, 0, ResultShape::kNothing},
    Operator{"alias", kView, 0, ResultShape::kNothing},
    Operator{"t", kView, 0, ResultShape::kNothing},
    Operator{"transpose", kView, 0, ResultShape::kNothing},
    Operator{"permute", kView, 0, ResultShape::kNothing},
    Operator{"expand", kView, 0, ResultShape::kNothing},
    Operator{"squeeze", kView, 0, ResultShape::kNothing},
    Operator{"unsqueeze", kView, 0, ResultShape::kNothing},
    Operator{"select", kView, 0, ResultShape::kNothing},
    Operator{"slice", kView, 0, ResultShape::kNothing},
    Operator{"split", kView, 0, ResultShape::kNothing},
    Operator{"split_with_sizes", kView, 0, ResultShape::kNothing},
    Operator{"unbind", kView, 0, ResultShape::kNothing},
    Operator{"empty", kView, 0, ResultShape::kNothing},
    Operator{"empty_like", kView, 0, ResultShape::kNothing},
    Operator{"empty_strided", kView, 0, ResultShape::kNothing},
    Operator{"new_empty", kView, 0, ResultShape::kNothing},
    Operator{"new_empty_strided", kView, 0, ResultShape::kNothing},
    Operator{"lift_fresh", kView, 0, ResultShape::kNothing},
};

double bytes_of(const std::vector<const TensorShape*>& tensors) {
  double bytes = 0;
  for (const TensorShape* tensor : tensors) {
    bytes += tensor->bytes();
  }
  return bytes;
}

double elements_of(const Argument& list) {
  double elements = 0;
  if (const auto* items = list.list()) {
    for (const Argument& item : *items) {
      elements += item.tensor() == nullptr ? 0 : item.tensor()->elements();
    }
  }
  return elements;
}

/// As many elements as all of them broadcast together have.
double broadcast_elements(const std::vector<const TensorShape*>& tensors) {
  std::vector<std::int64_t> sizes;  // from the last dimension
  for (const TensorShape* tensor : tensors) {
    for (std::size_t i = 0; i < tensor->sizes.size(); ++i) {
      const std::int64_t size = tensor->sizes[tensor->sizes.size() - 1 - i];
      if (i == sizes.size()) {
        sizes.push_back(size);
      } else if (sizes[i] == 1) {
        sizes[i] = size;
      }
    }
  }
  double elements = 1;
  for (const std::int64_t size : sizes) {
    elements *= static_cast<double>(size);
  }
  return elements;
}

double largest(const std::vector<const TensorShape*>& tensors) {
  double most = 0;
  for (const TensorShape* tensor : tensors) {
    most = std::max(most, tensor->elements());
  }
  return most;
}

double product_of(const std::vector<std::int64_t>& sizes) {
  double product = sizes.empty() ? 0 : 1;
  for (const std::int64_t size : sizes) {
    product *= static_cast<double>(size);
  }
  return product;
}

/// Bytes of an element of the result: of "d:bfloat16" among the keywords, or of the first tensor.
double result_bytes(const OperationCall& call, const TensorShape* first) {
  for (const auto& [name, argument] : call.keywords) {
    const auto* text = std::get_if<std::string>(&argument.value);
    if (name == "dtype" && text != nullptr && text->starts_with("d:")) {
      return dtype_bytes(std::string_view(*text).substr(2));
    }
  }
  return first == nullptr ? 4 : dtype_bytes(first->dtype);
}

struct Traffic {
  double elements = 0;  ///< that are worked on
  double read = 0;      ///< bytes
  double written = 0;
};

Traffic traffic_of_lists(const Operator& operation, const OperationCall& call,
                         const std::vector<const TensorShape*>& tensors) {
  const double first = elements_of(call.argument(0));
  double written = first;
  for (std::size_t i = 2; operation.result == ResultShape::kAllLists && i < call.arguments.size(); ++i) {
    written += elements_of(call.argument(i));
  }
  return {first, bytes_of(tensors), written * (tensors.empty() ? 4 : dtype_bytes(tensors[0]->dtype))};
}

/// Embeddings and index_select: the table is read as far as it is written.
Traffic traffic_of_gather(const OperationCall& call) {
  const TensorShape* table = call.argument(0).tensor();
  const TensorShape* indices = nullptr;
  for (const std::size_t at : {std::size_t{1}, std::size_t{2}}) {
    indices = indices == nullptr ? call.argument(at).tensor() : indices;
  }
  if (table == nullptr || indices == nullptr || table->sizes.empty()) {
    return {};
  }
  const double row = table->elements() / std::max(1.0, static_cast<double>(table->sizes[0]));
  const double rows = indices->elements() * row * dtype_bytes(table->dtype);
  return {0, rows + indices->bytes(), rows};
}

/// avg_pool2d and max_pool2d_with_indices, which also writes an index of 8 bytes for each element.
Traffic traffic_of_pooling(const Operator& operation, const OperationCall& call) {
  const TensorShape* input = call.argument(0).tensor();
  const std::vector<std::int64_t> kernel = call.argument(1).numbers();
  if (input == nullptr || input->sizes.size() < 2 || kernel.empty()) {
    return {};
  }
  const auto at = [](const std::vector<std::int64_t>& values, std::size_t index, std::int64_t otherwise) {
    return values.empty() ? otherwise : values[std::min(index, values.size() - 1)];
  };
  double output = input->elements();
  double window = 1;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const std::int64_t size = input->sizes[input->sizes.size() - 2 + i];
    const std::int64_t reach = std::max<std::int64_t>(1, at(kernel, i, 1));
    const std::int64_t step = std::max<std::int64_t>(1, at(call.argument(2).numbers(), i, reach));
    const std::int64_t padded = size + 2 * at(call.argument(3).numbers(), i, 0);
    const std::int64_t places = padded < reach ? 0 : (padded - reach) / step + 1;
    output *= static_cast<double>(places) / std::max(1.0, static_cast<double>(size));
    window *= static_cast<double>(reach);
  }
  const double index = operation.name.starts_with("max") ? 8 : 0;
  return {output * window, input->bytes(), output * (dtype_bytes(input->dtype) + index)};
}

Traffic traffic_of(const Operator& operation, const OperationCall& call,
                   const std::vector<const TensorShape*>& tensors) {
  const TensorShape* first = tensors.empty() ? nullptr : tensors[0];
  const double size = result_bytes(call, first);
  const double read = bytes_of(tensors);
  const double most = largest(tensors);
  switch (operation.result) {
    case ResultShape::kBroadcast:
      return {broadcast_elements(tensors), read, broadcast_elements(tensors) * size};
    case ResultShape::kFirst:
      return {most, read, first == nullptr ? 0 : first->elements() * size};
    case ResultShape::kSecond:
      return {most, read, tensors.size() < 2 ? 0 : tensors[1]->bytes()};
    case ResultShape::kPicked:
      return tensors.size() < 2 ? Traffic{most, read, 0}
                                : Traffic{most, tensors[1]->elements() * size + tensors[1]->bytes(), 0};
    case ResultShape::kSpread:
      return tensors.size() < 2 ? Traffic{most, read, 0}
                                : Traffic{most, read - tensors[1]->bytes(), tensors[1]->bytes()};
    case ResultShape::kLists:
    case ResultShape::kAllLists:
      return traffic_of_lists(operation, call, tensors);
    case ResultShape::kSum:
      return {0, read, read};
    case ResultShape::kGathered:
      return traffic_of_gather(call);
    case ResultShape::kOnly:
      return {0, 0, first == nullptr ? product_of(call.argument(0).numbers()) * size : first->bytes()};
    case ResultShape::kPooled:
      return traffic_of_pooling(operation, call);
    case ResultShape::kReduced:
    case ResultShape::kScattered:
    case ResultShape::kNothing:
      break;
  }
  return {most, operation.kind == kView ? 0 : read, 0};
}

/// "aten::add_" is "add": in place, and "aten::__and__" stays.
std::string_view base_name(std::string_view operation) {
  operation.remove_prefix(std::string_view("aten::").size());
  if (operation.size() > 1 && operation.ends_with('_') && !operation.ends_with("__")) {
    operation.remove_suffix(1);
  }
  return operation;
}

}  // namespace

std::optional<OperationWork> work_of(const OperationCall& call) {
  if (!call.operation.starts_with("aten::")) {
    return std::nullopt;
  }
  const std::string_view name = base_name(call.operation);
  if (is_matrix_operator(name)) {
    return matrix_work(name, call);
  }
  const auto* const found = std::ranges::find(kOperators, name, &Operator::name);
  if (found == kOperators.end()) {
    return std::nullopt;
  }
  const std::vector<const TensorShape*> tensors = call.tensors();
  const Traffic traffic = traffic_of(*found, call, tensors);
  return OperationWork{found->kind, tensors.empty() ? "" : tensors[0]->dtype, traffic.elements * found->flops,
                       traffic.read, traffic.written};
}

std::optional<OperationWork> work_of(std::string_view key) {
  const auto call = parse_call(key);
  return call ? work_of(*call) : std::nullopt;
}

std::string_view kind_name(OperationKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"matrix", "elementwise", "reduction", "data", "view"};
  return kNames.at(static_cast<std::size_t>(kind));
}

}  // namespace ridgeline::operations
