#include "step/changes/arguments.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace ridgeline::step {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

ArgumentAndValue split_value(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  return equals == std::string_view::npos ? ArgumentAndValue{text, std::nullopt}
                                          : ArgumentAndValue{text.substr(0, equals), text.substr(equals + 1)};
}

std::optional<double> number_of(std::string_view text, double low, double high) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  return whole && value >= low && value <= high ? std::optional(value) : std::nullopt;
}

std::optional<int> whole_number_of(std::string_view text, int low, int high) {
  const auto value = number_of(text, low, high);
  return value.has_value() && *value == std::floor(*value) ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<double> bytes_of(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 7> kUnits = {
      {{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1.0}}};
  double unit = 1;
  for (const auto& [name, bytes] : kUnits) {
    if (text.ends_with(name)) {
      text.remove_suffix(name.size());
      unit = bytes;
      break;
    }
  }
  const auto value = number_of(text, 1, 1e15);
  return value.has_value() ? std::optional(*value * unit) : std::nullopt;
}

base::Result<std::uint64_t> bucket_bytes_of(std::string_view argument) {
  const auto bytes = bytes_of(argument);
  if (!bytes.has_value() || *bytes < 1) {
    return base::error("expected a size such as 25MiB");
  }
  return static_cast<std::uint64_t>(*bytes);
}

}  // namespace ridgeline::step
