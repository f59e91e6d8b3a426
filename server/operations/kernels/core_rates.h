// What one thread has of a processor, and the stages of a program's pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "operations/device/device.h"

namespace ridgeline::operations {

/// What one thread has of the device. Rates of levels that threads share are divided evenly (thesis, section 6.3.3).
struct CoreRates {
  struct Level {
    std::string name;
    double capacity_bytes = 0;
    double bytes_per_s = 0;
  };
  double flop_per_s = 0;
  double addition_s = 0;  ///< from an addition's operands to its result: four cycles
  double vector_bytes = 0;
  double line_bytes = 0;
  std::int64_t registers = 0;  ///< vector registers
  std::vector<Level> levels;   ///< the nearest first; the last one is the main memory
  const Level& near() const { return levels.front(); }
  /// The second cache, or the last level where there is only one cache.
  const Level& middle() const { return levels[levels.size() > 2 ? 1 : levels.size() - 1]; }
  /// The last cache.
  const Level& far() const { return levels[levels.size() - 2]; }
  /// The nearest level that holds `bytes`.
  const Level& holding(double bytes) const;
  /// The nearest level that keeps `bytes` from one run to the next: other data take a quarter of a cache.
  const Level& keeping(double bytes) const { return holding(bytes / 0.75); }
  /// Seconds of a vector instruction, of which as many can begin as multiply-adds.
  double instruction_s() const { return 2 * static_cast<double>(vector_elements()) / flop_per_s; }
  /// Elements of float32 in a vector.
  std::int64_t vector_elements() const { return static_cast<std::int64_t>(vector_bytes) / 4; }
};

/// An error where the device is no processor or was not measured. `threads`: from 1 to the device's compute units.
base::Result<CoreRates> core_rates(const Device& device, int threads);

/// The share of a cache for data that stays in it; the rest is for data that streams through.
inline constexpr double kUsedOfCache = 0.5;
/// Rows that the processor's prefetchers follow at once.
inline constexpr std::int64_t kMostStreams = 8;

/// The time for threads to begin and to end together, beside their work: a few microseconds.
inline constexpr double kThreadsStartNs = 5000;
/// Numbers of threads of which programs are tried where starting them may take longer than the work: one, and all.
std::vector<int> tried_threads(int threads);

struct Stage {
  std::string name;  ///< "compute", or a memory level
  double seconds = 0;
};

/// The stages overlap, so that the one that takes longest counts. `stages`: not empty; of equal ones the first.
Stage slowest_of(const std::vector<Stage>& stages);

}  // namespace ridgeline::operations
