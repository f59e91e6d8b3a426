// The predicted time of a program: of each stage of its pipeline, the slowest counts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hardware/device.h"
#include "kernels/matmul_plan.h"

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
};

base::Result<CoreRates> core_rates(const hardware::Device& device, int threads);

/// Fills in `ns` and `slowest`. The matrices are where they fit when the program begins: repeated runs are predicted.
/// Not modelled: the start of threads, misses of the TLB.
MatmulPlan with_predicted_time(MatmulPlan plan, const CoreRates& rates);

/// Seconds of one innermost step, per unit of depth: computing, and loading from L1.
double step_compute_s(const MatmulPlan& plan, const CoreRates& rates);
double step_load_s(const MatmulPlan& plan, const CoreRates& rates);

}  // namespace ridgeline::kernels
