// What one thread has of a processor, and the stages of a program's pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "hardware/device.h"

namespace ridgeline::kernels {

/// What one thread has of the device. Rates of levels that threads share are divided evenly (thesis, section 6.3.3).
struct CoreRates {
  struct Level {
    std::string name;
    double capacity_bytes = 0;
    double bytes_per_s = 0;
  };
  double flop_per_s = 0;
  double vector_bytes = 0;
  double line_bytes = 0;
  std::int64_t registers = 0;  ///< vector registers
  std::vector<Level> levels;   ///< the nearest first; the last one is the main memory
  const Level& near() const { return levels.front(); }
  /// The second cache, or the last level where there is only one cache.
  const Level& middle() const { return levels[levels.size() > 2 ? 1 : levels.size() - 1]; }
  /// The last cache.
  const Level& far() const { return levels[levels.size() - 2]; }
  /// The nearest that holds so many bytes.
  const Level& holding(double bytes) const;
  /// Of float32.
  std::int64_t vector_elements() const { return static_cast<std::int64_t>(vector_bytes) / 4; }
};

/// An error where the device is no processor or was not measured. `threads`: from 1 to the device's compute units.
base::Result<CoreRates> core_rates(const hardware::Device& device, int threads);

/// Two multiply-adds or additions a cycle, each of four cycles: fewer accumulators wait for themselves.
inline constexpr double kChainsForPeak = 8;
/// Of a cache, for what stays in it; the rest is for what streams through.
inline constexpr double kUsedOfCache = 0.5;
/// Rows that the processor's prefetchers follow at once.
inline constexpr std::int64_t kMostStreams = 8;

struct Stage {
  std::string name;  ///< "compute", or a memory level
  double seconds = 0;
};

/// The stages overlap, so that the one that takes longest counts. `stages`: not empty; of equal ones the first.
Stage slowest_of(const std::vector<Stage>& stages);

}  // namespace ridgeline::kernels
