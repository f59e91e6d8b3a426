// The arguments of changes: parts between separators, numbers, and numbers with units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridgeline::step {

std::vector<std::string> split(std::string_view text, char separator);

/// ARGUMENT=VALUE by its last "=", as the argument may be a name of a module or a file.
struct ArgumentAndValue {
  std::string_view argument;
  std::optional<std::string_view> value;
};
ArgumentAndValue split_value(std::string_view text);

/// Nothing unless all of the text is a number from `low` to `high`.
std::optional<double> number_of(std::string_view text, double low, double high);
std::optional<int> whole_number_of(std::string_view text, int low, int high);

/// Bytes: a number with B, kB, MB, GB, KiB, MiB or GiB behind it, or with nothing.
std::optional<double> bytes_of(std::string_view text);

/// The bytes of a bucket of gradients, 1 or more. The error says what the argument is.
base::Result<std::uint64_t> bucket_bytes_of(std::string_view argument);

}  // namespace ridgeline::step
