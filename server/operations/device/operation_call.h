// An operation's key, read: its name and the shapes of its tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ridgeline::operations {

struct TensorShape {
  std::string dtype;  ///< "float32"
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements; as many as sizes
  std::string device = "cpu";

  double elements() const;
  /// Bytes of the memory that it reads or writes: an expanded dimension counts once.
  double bytes() const;
  /// Whether its elements lie one after the other, as torch.Tensor.is_contiguous() has it.
  bool is_contiguous() const;
};

/// Bytes of one element; 4 for an unknown type.
double dtype_bytes(std::string_view dtype);

/// What stands in a key: other values than these are texts.
struct Argument {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, TensorShape, std::vector<Argument>> value;

  const TensorShape* tensor() const { return std::get_if<TensorShape>(&value); }
  const std::vector<Argument>* list() const { return std::get_if<std::vector<Argument>>(&value); }
  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
  bool is_true() const { return std::holds_alternative<bool>(value) && std::get<bool>(value); }
  std::optional<std::int64_t> whole() const;
  /// Numbers of a list; a number alone is a list of one. Empty for anything else.
  std::vector<std::int64_t> numbers() const;
};

struct OperationCall {
  std::string operation;  ///< "aten::mm"
  std::string overload;   ///< "default"
  std::vector<Argument> arguments;
  std::vector<std::pair<std::string, Argument>> keywords;

  /// A positional argument; None where the call has fewer.
  const Argument& argument(std::size_t index) const;
  /// All tensors in order, those of lists too.
  std::vector<const TensorShape*> tensors() const;
};

/// Parses a key as profiler/runner/ridgeline_runner/measure/operation_key.py writes it. Absent for any other text: a
/// key comes from the user's process. Lists nest at most four deep.
std::optional<OperationCall> parse_call(std::string_view key);

}  // namespace ridgeline::operations
