// After which operations a long gap follows: time outside of operations.
#pragma once

#include <array>
#include <cstdint>

namespace ridgeline::agent {

/// Steps repeat themselves: where a long gap followed an operation, another one is expected. Each long gap earns its
/// place a few armings of the sampler's timer, in proportion to its length, so that unnecessary armings cost at most a
/// small part of the time that was spent in long gaps. Used by one thread; no allocation.
///
/// An operation is passed several times in an iteration, as the one that each parameter's gradient ends with: each pass
/// is a place of its own, up to kPasses of them.
class LongGaps {
 public:
  void iteration_begins() { passes_.fill(0); }

  /// The place of a gap that begins after or in an operation, given as a number: that number, and which pass it is.
  std::uint64_t pass(std::uint64_t operation) {
    std::uint8_t& passes = passes_[slot_of(operation)];
    passes = passes < kPasses ? static_cast<std::uint8_t>(passes + 1) : passes;
    return operation + passes * 0xD6E8FEB86659FD93ULL;
  }

  /// Whether a gap that begins at `place` is worth sampling. Spends an arming.
  bool take(std::uint64_t place) {
    const std::size_t slot = slot_of(place);
    if ((filter_[slot / 64] >> (slot % 64) & 1U) == 0 || entries_[slot].place != place) {
      return false;
    }
    if (--entries_[slot].armings == 0) {
      filter_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    }
    return true;
  }

  /// A gap that began at `place` lasted `units` of the time that pays for one arming.
  void add(std::uint64_t place, std::uint64_t units) {
    const std::size_t slot = slot_of(place);
    Entry& entry = entries_[slot];
    if (entry.place != place || (filter_[slot / 64] >> (slot % 64) & 1U) == 0) {
      entry = {place, 0};  // another place loses its armings, and has to earn them again
    }
    entry.armings += units < kMost ? units : kMost;
    entry.armings = entry.armings < kMost ? entry.armings : kMost;
    if (entry.armings != 0) {
      filter_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    }
  }

 private:
  static constexpr std::size_t kSlots = 8192;
  static constexpr std::uint8_t kPasses = 255;
  static constexpr std::uint64_t kMost = 64;
  struct Entry {
    std::uint64_t place = 0;
    std::uint64_t armings = 0;
  };
  static std::size_t slot_of(std::uint64_t place) {
    return static_cast<std::size_t>((place * 0x9E3779B97F4A7C15ULL) >> 51U);
  }

  std::array<std::uint64_t, kSlots / 64> filter_{};  ///< slots with armings left; most operations read only this
  std::array<Entry, kSlots> entries_{};
  std::array<std::uint8_t, kSlots> passes_{};  ///< in this iteration; places that share a slot share them
};

}  // namespace ridgeline::agent
