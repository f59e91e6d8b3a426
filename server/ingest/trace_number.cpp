#include "ingest/trace_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace ridgeline::ingest {

std::optional<Number> number_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative || text.starts_with('+') ? 1 : 0);
  Number number{.negative = negative};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number.magnitude);
  if (error == std::errc() && end == digits.data() + digits.size()) {
    return number;
  }
  number = {0, negative, false, digits};
  const bool begins = !digits.empty() && (digits[0] == '.' || (digits[0] >= '0' && digits[0] <= '9'));
  double value = 0;
  const auto [last, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = begins && problem != std::errc::invalid_argument && last == digits.data() + digits.size();
  return is_number ? std::optional(number) : std::nullopt;
}

bool to_ns(const Number& number, std::uint64_t& ns) {
  if (number.whole) {
    ns = number.magnitude * 1000;
    return number.magnitude <= std::numeric_limits<std::int64_t>::max() / 1000;
  }
  std::string_view digits = number.digits;
  if (digits.starts_with('-')) {
    digits.remove_prefix(1);
  }
  return nanoseconds(digits, ns);
}

bool nanoseconds(std::string_view microseconds, std::uint64_t& ns) {
  const std::size_t exponent = microseconds.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    // No writer of traces uses one where digits matter.
    double value = 0;
    const auto [end, error] = std::from_chars(microseconds.data(), microseconds.data() + microseconds.size(), value);
    const bool good = error == std::errc() && value >= 0 && value < 9e15;
    ns = good ? static_cast<std::uint64_t>(std::llround(value * 1000)) : 0;
    return good;
  }
  const std::size_t point = std::min(microseconds.find('.'), microseconds.size());
  std::uint64_t whole = 0;
  const std::string_view before = microseconds.substr(0, point);
  const auto [end, error] = std::from_chars(before.data(), before.data() + before.size(), whole);
  if (error != std::errc() || end != before.data() + before.size() ||
      whole > std::numeric_limits<std::int64_t>::max() / 1000 - 1) {
    return false;
  }
  ns = whole * 1000;
  std::uint64_t unit = 100;
  for (const char digit : microseconds.substr(std::min(point + 1, microseconds.size()))) {
    if (digit < '0' || digit > '9') {
      return false;
    }
    ns += unit * static_cast<std::uint64_t>(digit - '0');
    unit /= 10;
  }
  return true;
}

}  // namespace ridgeline::ingest
