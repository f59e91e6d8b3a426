#include "ingest/recorded_key.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ridgeline::ingest {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxArguments = 64;
constexpr double kKeptWhole = 16;  ///< as _KEPT_WHOLE of operation_key.py

/// How the overload follows from the second argument.
enum class Overload : std::uint8_t {
  kDefault,
  kTensorOrScalar,
  kPower,
  kDimensions,
  kMean,
  kInteger,
  kDimension,
  kTensor
};

struct Operator {
  std::string_view name;  ///< without "aten::" and the underscore of in-place variants
  Overload overload;
  std::size_t required;    ///< positional arguments without a default
  std::size_t positional;  ///< all of them; those behind them are keywords
  bool needs_values;       ///< what it computes depends on arguments that are no tensors
};

constexpr auto kDefault = Overload::kDefault;
constexpr auto kTensorOrScalar = Overload::kTensorOrScalar;

// torch's native_functions.yaml.
constexpr std::array kOperators = {
    Operator{"mm", kDefault, 2, 2, false},
    Operator{"bmm", kDefault, 2, 2, false},
    Operator{"addmm", kDefault, 3, 3, false},
    Operator{"baddbmm", kDefault, 3, 3, false},
    Operator{"convolution", kDefault, 9, 9, true},
    Operator{"convolution_backward", kDefault, 11, 11, true},
    Operator{"add", kTensorOrScalar, 2, 2, false},
    Operator{"sub", kTensorOrScalar, 2, 2, false},
    Operator{"mul", kTensorOrScalar, 2, 2, false},
    Operator{"div", kTensorOrScalar, 2, 2, false},
    Operator{"eq", kTensorOrScalar, 2, 2, false},
    Operator{"ne", kTensorOrScalar, 2, 2, false},
    Operator{"lt", kTensorOrScalar, 2, 2, false},
    Operator{"le", kTensorOrScalar, 2, 2, false},
    Operator{"gt", kTensorOrScalar, 2, 2, false},
    Operator{"ge", kTensorOrScalar, 2, 2, false},
    Operator{"pow", Overload::kPower, 2, 2, false},
    Operator{"addcmul", kDefault, 3, 3, false},
    Operator{"addcdiv", kDefault, 3, 3, false},
    Operator{"neg", kDefault, 1, 1, false},
    Operator{"abs", kDefault, 1, 1, false},
    Operator{"exp", kDefault, 1, 1, false},
    Operator{"log", kDefault, 1, 1, false},
    Operator{"sin", kDefault, 1, 1, false},
    Operator{"cos", kDefault, 1, 1, false},
    Operator{"sqrt", kDefault, 1, 1, false},
    Operator{"rsqrt", kDefault, 1, 1, false},
    Operator{"tanh", kDefault, 1, 1, false},
    Operator{"sigmoid", kDefault, 1, 1, false},
    Operator{"relu", kDefault, 1, 1, false},
    Operator{"gelu", kDefault, 1, 1, false},
    Operator{"silu", kDefault, 1, 1, false},
    Operator{"clamp_min", kDefault, 2, 2, false},
    Operator{"tanh_backward", kDefault, 2, 2, false},
    Operator{"sigmoid_backward", kDefault, 2, 2, false},
    Operator{"gelu_backward", kDefault, 2, 2, false},
    Operator{"silu_backward", kDefault, 2, 2, false},
    Operator{"threshold_backward", kDefault, 3, 3, false},
    Operator{"native_dropout", kDefault, 3, 3, false},
    Operator{"native_dropout_backward", kDefault, 3, 3, false},
    Operator{"masked_fill", kTensorOrScalar, 3, 3, false},
    Operator{"sum", Overload::kDimensions, 2, 3, false},
    Operator{"mean", Overload::kMean, 2, 3, false},
    Operator{"_scaled_dot_product_flash_attention", kDefault, 3, 6, false},
    Operator{"_scaled_dot_product_flash_attention_backward", kDefault, 14, 14, false},
    Operator{"_scaled_dot_product_efficient_attention", kDefault, 5, 7, false},
    Operator{"_scaled_dot_product_efficient_attention_backward", kDefault, 11, 12, false},
    Operator{"_scaled_dot_product_cudnn_attention", kDefault, 5, 8, false},
    Operator{"_softmax", kDefault, 3, 3, false},
    Operator{"_log_softmax", kDefault, 3, 3, false},
    Operator{"_softmax_backward_data", kDefault, 4, 4, false},
    Operator{"_log_softmax_backward_data", kDefault, 4, 4, false},
    Operator{"native_layer_norm", kDefault, 5, 5, false},
    Operator{"native_layer_norm_backward", kDefault, 8, 8, false},
    Operator{"native_batch_norm", kDefault, 8, 8, false},
    Operator{"native_batch_norm_backward", kDefault, 10, 10, false},
    Operator{"max_pool2d_with_indices", kDefault, 2, 6, true},
    Operator{"max_pool2d_with_indices_backward", kDefault, 8, 8, false},
    Operator{"_adaptive_avg_pool2d", kDefault, 2, 2, false},
    Operator{"_adaptive_avg_pool2d_backward", kDefault, 2, 2, false},
    Operator{"embedding", kDefault, 2, 5, false},
    Operator{"index_select", kDefault, 3, 3, false},
    Operator{"copy", kDefault, 2, 3, false},
    Operator{"fill", kTensorOrScalar, 2, 2, false},
    Operator{"zero", kDefault, 1, 1, false},
    Operator{"detach", kDefault, 1, 1, false},
    Operator{"alias", kDefault, 1, 1, false},
    Operator{"t", kDefault, 1, 1, false},
    Operator{"view", kDefault, 2, 2, false},
    Operator{"_unsafe_view", kDefault, 2, 2, false},
    Operator{"_reshape_alias", kDefault, 3, 3, false},
    Operator{"as_strided", kDefault, 3, 4, false},
    Operator{"expand", kDefault, 2, 2, false},
    Operator{"permute", kDefault, 2, 2, false},
    Operator{"unsqueeze", kDefault, 2, 2, false},
    Operator{"squeeze", Overload::kDimension, 2, 2, false},
    Operator{"transpose", Overload::kInteger, 3, 3, false},
    Operator{"select", Overload::kInteger, 3, 3, false},
    Operator{"slice", Overload::kTensor, 2, 5, false},
};

std::string_view dtype_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kTypes = {
      {{"float", "float32"},
       {"double", "float64"},
       {"c10::Half", "float16"},
       {"c10::BFloat16", "bfloat16"},
       {"long int", "int64"},
       {"long", "int64"},
       {"int", "int32"},
       {"short int", "int16"},
       {"short", "int16"},
       {"signed char", "int8"},
       {"unsigned char", "uint8"},
       {"bool", "bool"},
       {"c10::complex<float>", "complex64"},
       {"c10::complex<double>", "complex128"},
       {"c10::Float8_e4m3fn", "float8_e4m3fn"},
       {"c10::Float8_e5m2", "float8_e5m2"}}};
  const auto* const found = std::ranges::find(kTypes, type, &std::pair<std::string_view, std::string_view>::first);
  return found == kTypes.end() ? std::string_view() : found->second;
}

bool is_list_of_sizes(const json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const json& one) { return one.is_number_unsigned(); });
}

bool is_tensor(const json& argument) {
  return argument.is_string() && argument.get_ref<const std::string&>().starts_with("t:");
}

/// Nothing for sizes that are none. `strides`: null where they were not recorded.
std::optional<json> tensor(std::string_view dtype, const json& sizes, const json& strides) {
  if (!is_list_of_sizes(sizes) ||
      (!strides.is_null() && (!is_list_of_sizes(strides) || strides.size() != sizes.size()))) {
    return std::nullopt;
  }
  std::vector<std::uint64_t> shape = sizes.get<std::vector<std::uint64_t>>();
  std::vector<std::uint64_t> steps(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    steps[i - 1] = steps[i] * std::max<std::uint64_t>(shape[i], 1);
  }
  if (!strides.is_null()) {
    steps = strides.get<std::vector<std::uint64_t>>();
  }
  return fmt::format("t:{}:{}:{}:cuda", dtype, fmt::join(shape, ","), fmt::join(steps, ","));
}

/// A number, a switch or a list of them, as Python prints them. Null for anything else.
json value_of(std::string text) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace("True", "true");
  replace("False", "false");
  if (text.ends_with('.')) {
    text += '0';
  }
  json value = json::parse(text, nullptr, false);
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const bool kept = std::abs(number) <= kKeptWhole && number == static_cast<double>(static_cast<int>(number));
    return kept ? value : json(number > 0 ? 0.5 : -0.5);
  }
  const bool is_flat =
      value.is_array() && std::ranges::all_of(value, [](const json& one) { return one.is_primitive(); });
  return value.is_number_integer() || value.is_boolean() || is_flat ? value : json();
}

struct Arguments {
  std::vector<json> all{};
  bool has_values = false;
};

/// Nothing where the lists contradict each other.
std::optional<Arguments> arguments_of(const RecordedInputs& inputs) {
  const json sizes = json::parse(inputs.sizes, nullptr, false);
  const json types = json::parse(inputs.types, nullptr, false);
  const json strides = json::parse(inputs.strides, nullptr, false);
  const json values = json::parse(inputs.values, nullptr, false);
  // Lists of lists are shorter in some versions: what is behind the last tensor may be missing.
  if (!sizes.is_array() || !types.is_array() || types.size() > kMaxArguments || sizes.size() > types.size()) {
    return std::nullopt;
  }
  const auto at = [](const json& list, std::size_t i) { return list.is_array() && i < list.size() ? list[i] : json(); };
  Arguments found{.has_values = values.is_array()};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string type = types[i].is_string() ? types[i].get<std::string>() : "";
    if (type == "TensorList") {
      return std::nullopt;
    }
    const std::string_view dtype = dtype_of(type);
    if (!dtype.empty()) {
      auto described = tensor(dtype, at(sizes, i), at(strides, i));
      if (!described) {
        return std::nullopt;
      }
      found.all.push_back(std::move(*described));
    } else {
      const json value = at(values, i);
      found.all.push_back(value.is_string() ? value_of(value.get<std::string>()) : json());
    }
  }
  return found;
}

/// In the order of aten's arguments: those of cuDNN's and MIOpen's operators.
void as_aten(std::string_view& name, std::vector<json>& arguments) {
  const auto take = [&](std::initializer_list<int> order) {
    std::vector<json> taken;
    for (const int i : order) {
      taken.push_back(i >= 0 ? arguments[static_cast<std::size_t>(i)] : json());
    }
    arguments = std::move(taken);
  };
  const std::size_t count = arguments.size();
  const bool has_bias = name == "miopen_convolution";
  if ((name == "cudnn_convolution" && count >= 6) || (has_bias && count >= 7)) {
    // input, weight, [bias,] padding, stride, dilation, groups, ...
    const int more = has_bias ? 1 : 0;
    take({0, 1, has_bias ? 2 : -1, 3 + more, 2 + more, 4 + more, -1, -1, 5 + more});
    arguments[6] = false;
    arguments[7] = json(std::vector<int>(arguments[4].is_array() ? arguments[4].size() : 0));
    name = "convolution";
  } else if ((name == "cudnn_batch_norm" || name == "miopen_batch_norm") && count == 8) {
    name = "native_batch_norm";
  } else if ((name == "cudnn_batch_norm_backward" || name == "miopen_batch_norm_backward") && count >= 8) {
    // input, gradient, weight, running mean and variance, saved mean and variance, epsilon
    take({1, 0, 2, 3, 4, 5, 6, -1, 7, -1});
    arguments[7] = true;
    arguments[9] = json({true, true, true});
    name = "native_batch_norm_backward";
  } else if ((name == "_softmax_backward_data" || name == "_log_softmax_backward_data") && count == 4 &&
             is_tensor(arguments[0])) {
    const std::string like = arguments[0].get<std::string>().substr(2);
    arguments[3] = "d:" + like.substr(0, like.find(':'));
  }
}

std::string_view overload_of(const Operator& found, const std::vector<json>& arguments) {
  const std::size_t second = found.name == "masked_fill" ? 2 : 1;
  const bool has_tensor = arguments.size() > second && is_tensor(arguments[second]);
  switch (found.overload) {
    case Overload::kTensorOrScalar:
      return has_tensor ? "Tensor" : "Scalar";
    case Overload::kPower:
      return has_tensor ? "Tensor_Tensor" : "Tensor_Scalar";
    case Overload::kDimensions:
      return arguments[1].is_array() ? "dim_IntList" : "default";
    case Overload::kMean:
      return arguments[1].is_array() ? "dim" : "default";
    case Overload::kInteger:
      return "int";
    case Overload::kDimension:
      return "dim";
    case Overload::kTensor:
      return "Tensor";
    case Overload::kDefault:
      break;
  }
  return "default";
}

}  // namespace

std::optional<std::string> recorded_key(std::string_view name, const RecordedInputs& inputs) {
  constexpr std::string_view kAten = "aten::";
  auto read = name.starts_with(kAten) ? arguments_of(inputs) : std::nullopt;
  if (!read) {
    return std::nullopt;
  }
  std::string_view base = name.substr(kAten.size());
  as_aten(base, read->all);
  const std::string called(base);
  base.remove_suffix(base.ends_with('_') ? 1 : 0);
  const auto* const found = std::ranges::find(kOperators, base, &Operator::name);
  std::vector<json>& arguments = read->all;
  if (found == kOperators.end() || arguments.size() < found->required || (found->needs_values && !read->has_values) ||
      !is_tensor(arguments[0])) {
    return std::nullopt;
  }
  // A tensor behind the positional ones is an "out" that the result is written to: it is not read.
  const std::string_view overload = overload_of(*found, arguments);
  const bool is_whole = overload == "default" && found->overload != Overload::kDefault;  // without dimensions
  arguments.resize(is_whole ? 1 : std::min(arguments.size(), found->positional));
  while (arguments.size() > found->required && (arguments.back().is_null() || arguments.back() == json(false))) {
    arguments.pop_back();
  }
  const json key = {fmt::format("{}{}.{}", kAten, called, overload), arguments, json::object()};
  return key.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace ridgeline::ingest
