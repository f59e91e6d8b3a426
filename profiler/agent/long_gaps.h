// After which operations a long gap follows: time outside of operations.
#pragma once

#include <array>
#include <cstdint>

namespace ridgeline::agent {

/// Steps repeat themselves: where a long gap followed an operation, another one is expected. Each long gap earns its
/// place a few armings of the sampler's timer, in proportion to its length, so that unnecessary armings cost at most a
/// small part of the time that was spent in long gaps. Used by one thread; no allocation.
class LongGaps {
 public:
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
  static constexpr std::size_t kSlots = 2048;
  static constexpr std::uint64_t kMost = 64;
  struct Entry {
    std::uint64_t place = 0;
    std::uint64_t armings = 0;
  };
  static std::size_t slot_of(std::uint64_t place) {
    return static_cast<std::size_t>((place * 0x9E3779B97F4A7C15ULL) >> 53U);
  }

  std::array<std::uint64_t, kSlots / 64> filter_{};  ///< slots with armings left; most operations read only this
  std::array<Entry, kSlots> entries_{};
};

}  // namespace ridgeline::agent
