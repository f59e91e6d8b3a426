#include "operations/device/operation_call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace ridgeline::operations {

namespace {

using nlohmann::json;

constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxKeyBytes = std::size_t{1} << 18U;
constexpr std::size_t kMaxDimensions = 64;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 50U;

/// Up to the next separator, which is removed with it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool read_sizes(std::string_view text, std::vector<std::int64_t>& sizes) {
  while (!text.empty()) {
    const std::string_view part = take(text, ',');
    std::int64_t size = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (problem != std::errc() || end != part.data() + part.size() || size < 0 || size > kMaxSize ||
        sizes.size() == kMaxDimensions) {
      return false;
    }
    sizes.push_back(size);
  }
  return true;
}

/// "float32:4,8:8,1" with ":cuda" where it is not on the CPU.
std::optional<TensorShape> read_tensor(std::string_view text) {
  TensorShape tensor;
  tensor.dtype = take(text, ':');
  if (!read_sizes(take(text, ':'), tensor.sizes) || !read_sizes(take(text, ':'), tensor.strides) ||
      tensor.sizes.size() != tensor.strides.size()) {
    return std::nullopt;
  }
  if (!text.empty()) {
    tensor.device = take(text, ':');
  }
  return tensor;
}

std::optional<Argument> read(const json& value, int depth) {
  if (value.is_array()) {
    std::vector<Argument> list;
    for (const json& item : value) {
      auto one = depth < kMaxDepth ? read(item, depth + 1) : std::nullopt;
      if (!one) {
        return std::nullopt;
      }
      list.push_back(std::move(*one));
    }
    return Argument{std::move(list)};
  }
  switch (value.type()) {
    case json::value_t::null:
      return Argument{};
    case json::value_t::boolean:
      return Argument{value.get<bool>()};
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return Argument{value.get<std::int64_t>()};
    case json::value_t::number_float:
      return Argument{value.get<double>()};
    case json::value_t::string:
      break;
    default:
      return std::nullopt;
  }
  const std::string& text = value.get_ref<const std::string&>();
  if (!text.starts_with("t:")) {
    return Argument{text};
  }
  auto tensor = read_tensor(std::string_view(text).substr(2));
  return tensor ? std::optional(Argument{std::move(*tensor)}) : std::nullopt;
}

void add_tensors(const Argument& argument, std::vector<const TensorShape*>& tensors) {
  if (const TensorShape* tensor = argument.tensor()) {
    tensors.push_back(tensor);
  } else if (const auto* list = argument.list()) {
    for (const Argument& item : *list) {  // at most kMaxDepth deep
      add_tensors(item, tensors);
    }
  }
}

}  // namespace

double dtype_bytes(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, double>, 13> kSizes = {{{"float64", 8},
                                                                           {"int64", 8},
                                                                           {"complex64", 8},
                                                                           {"complex128", 16},
                                                                           {"float16", 2},
                                                                           {"bfloat16", 2},
                                                                           {"int16", 2},
                                                                           {"int8", 1},
                                                                           {"uint8", 1},
                                                                           {"bool", 1},
                                                                           {"float8_e4m3fn", 1},
                                                                           {"float8_e5m2", 1},
                                                                           {"float32", 4}}};
  const auto* const found = std::ranges::find(kSizes, dtype, &std::pair<std::string_view, double>::first);
  return found == kSizes.end() ? 4 : found->second;
}

double TensorShape::elements() const {
  double product = 1;
  for (const std::int64_t size : sizes) {
    product *= static_cast<double>(size);
  }
  return product;
}

double TensorShape::bytes() const {
  double product = dtype_bytes(dtype);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    product *= strides[i] == 0 ? std::min<double>(static_cast<double>(sizes[i]), 1) : static_cast<double>(sizes[i]);
  }
  return product;
}

bool TensorShape::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) {
      return false;
    }
    expected *= sizes[i];
  }
  return true;
}

std::optional<std::int64_t> Argument::whole() const {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::vector<std::int64_t> Argument::numbers() const {
  if (const auto number = whole()) {
    return {*number};
  }
  std::vector<std::int64_t> numbers;
  if (const auto* items = list()) {
    for (const Argument& item : *items) {
      if (const auto number = item.whole()) {
        numbers.push_back(*number);
      }
    }
  }
  return numbers;
}

const Argument& OperationCall::argument(std::size_t index) const {
  static const Argument kNone;
  return index < arguments.size() ? arguments[index] : kNone;
}

std::vector<const TensorShape*> OperationCall::tensors() const {
  std::vector<const TensorShape*> all;
  for (const Argument& one : arguments) {
    add_tensors(one, all);
  }
  for (const auto& [name, one] : keywords) {
    add_tensors(one, all);
  }
  return all;
}

std::optional<OperationCall> parse_call(std::string_view key) {
  const json parsed = key.size() > kMaxKeyBytes ? json() : json::parse(key, nullptr, false);
  if (!parsed.is_array() || parsed.size() != 3 || !parsed[0].is_string() || !parsed[1].is_array() ||
      !parsed[2].is_object()) {
    return std::nullopt;
  }
  OperationCall call;
  const std::string& name = parsed[0].get_ref<const std::string&>();
  const std::size_t dot = name.rfind('.');
  call.operation = name.substr(0, dot);
  call.overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  for (const json& value : parsed[1]) {
    auto argument = read(value, 0);
    if (!argument) {
      return std::nullopt;
    }
    call.arguments.push_back(std::move(*argument));
  }
  for (const auto& [keyword, value] : parsed[2].items()) {
    auto argument = read(value, 0);
    if (!argument) {
      return std::nullopt;
    }
    call.keywords.emplace_back(keyword, std::move(*argument));
  }
  return call;
}

}  // namespace ridgeline::operations
