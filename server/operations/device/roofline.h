// The least time that a device needs for an operation: Williams, Waterman and Patterson, "Roofline" (CACM 2009).
#pragma once

#include <optional>

#include "operations/device/device.h"
#include "operations/device/operation_call.h"
#include "operations/device/operation_work.h"

namespace ridgeline::operations {

enum class Limit : std::uint8_t { kCompute, kMemory };

struct RooflineBound {
  double ns = 0;          ///< the larger of the two
  double compute_ns = 0;  ///< at the peak of the type
  double memory_ns = 0;
  Limit limit = Limit::kMemory;
  std::string level;  ///< the memory level that takes longest; empty: nothing is moved
};

/// No run is faster, whatever the caches hold when it begins: of each level must come at least what the nearer levels
/// cannot hold. Nothing where the device has no peak for the type and the operation computes. `units`: threads or
/// multiprocessors, at most the device's.
std::optional<RooflineBound> roofline_bound(const OperationWork& work, const Device& device, int units);

/// The least nanoseconds of any run, by whatever algorithm and on the fastest units that may compute the type: float32
/// on tensor cores where the device has tf32, since a program may allow that; convolutions by Winograd's algorithm or
/// Fourier transforms (least_share_of_flops). `work`: of the call.
std::optional<double> least_ns(const OperationCall& call, OperationWork work, const Device& device);

/// The plain roofline, as papers draw it: every byte from the main memory, once. Faster runs are possible where data
/// stays in a cache.
std::optional<RooflineBound> plain_roofline(const OperationWork& work, const Device& device, int units);

}  // namespace ridgeline::operations
