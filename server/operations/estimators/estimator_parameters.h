// What an operation's time depends on, as numbers: the parameters of Tianshu, section 3.2.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::operations {

struct Parameter {
  std::string name;  ///< "0.1": the second size of the first argument; "3": a number; "3.0": of a list
  double value = 0;
  bool is_dimension = false;  ///< a size of a tensor
};

struct OperationParameters {
  /// What selects the implementation and is no number: the operator, types, numbers of dimensions, whether tensors are
  /// contiguous, texts and switches.
  std::string mode;
  std::vector<Parameter> numbers;
};

/// The parameters in an operation's key. Absent for a text that is no key, and for calls with more than 48 numbers, as
/// those of optimizers over all parameters at once have.
std::optional<OperationParameters> parameters_of(std::string_view key);

/// Logarithms of the values that `numbers` has (of 1 where it is not positive), and of the FLOPs and bytes of the
/// operation where these are modelled, else zeros.
std::vector<double> features_of(std::string_view key, const std::vector<double>& numbers);

}  // namespace ridgeline::operations
