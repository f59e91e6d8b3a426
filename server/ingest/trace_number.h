// Numbers of a trace's JSON, with more digits than a double has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ridgeline::ingest {

/// A whole number, or the digits of one with a fraction or an exponent.
struct Number {
  std::uint64_t magnitude = 0;
  bool negative = false;
  bool whole = true;
  std::string_view digits{};

  bool unsigned_below(std::uint64_t bound) const { return whole && !negative && magnitude < bound; }
};

/// What JSON or a lenient writer of it calls a number, such as "12", "-0.5", "+1e3". Nothing for any other text: also
/// for an infinity, or none (NaN). The digits are a part of `text`.
std::optional<Number> number_of(std::string_view text);

/// Microseconds as nanoseconds, by magnitude; false when the number is too large or no number.
bool to_ns(const Number& number, std::uint64_t& ns);

/// A JSON number of microseconds in nanoseconds, digit by digit: a double has too few. False for what is not a time
/// from 0 on.
bool nanoseconds(std::string_view microseconds, std::uint64_t& ns);

}  // namespace ridgeline::ingest
