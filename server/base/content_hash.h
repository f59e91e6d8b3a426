// The hash that identifies contents: of sources in the cache, and of the files that a stored profile depends on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::base {

/// FNV-1a, 64 bits, over several parts. It detects changes, not attacks: two versions of a file have the same hash by
/// chance once in 2^64. An attacker who could forge one can write to the cache anyway.
class ContentHash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      hash_ = (hash_ ^ static_cast<std::uint8_t>(byte)) * kPrime;
    }
  }
  /// So that "ab", "c" and "a", "bc" differ.
  void end_part() { hash_ = (hash_ ^ 0xFFU) * kPrime; }

  /// Sixteen hexadecimal digits.
  std::string text() const {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    for (unsigned shift = 64; shift > 0; shift -= 4) {
      digits.push_back(kDigits[(hash_ >> (shift - 4)) & 0xFU]);
    }
    return digits;
  }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001B3ULL;
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

}  // namespace ridgeline::base
