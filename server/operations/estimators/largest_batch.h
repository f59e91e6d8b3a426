// The largest batch size that fits into a device's memory, from what steps of some sizes hold there. Pure.
#pragma once

#include <optional>
#include <span>

#include "operations/estimators/device_prediction.h"

namespace ridgeline::operations {

struct HeldAt {
  int batch_size = 0;
  HeldBytes held;
};

struct LargestBatchRange {
  int low = 0;   ///< by the most that steps may hold; 0: perhaps not even 1
  int high = 0;  ///< by the least
};

/// By straight lines between neighbouring sizes, and from the first two to smaller ones; what is held never shrinks
/// with the batch. `steps`: by batch size, ascending. Nothing with fewer than two steps, where these do not grow, and
/// where all of them fit: then the largest is beyond them.
std::optional<LargestBatchRange> largest_batch(std::span<const HeldAt> steps, double capacity_bytes);

}  // namespace ridgeline::operations
