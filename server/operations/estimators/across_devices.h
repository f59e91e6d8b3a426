// Times of operations on a GPU where nobody measured anything like them, learnt from other GPUs: how much longer they
// take than the roofline of the GPU allows, by features that mean the same on each (after Lee et al., "NeuSight",
// ASPLOS 2025, which learns the utilization from tiles and waves).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "operations/device/device.h"
#include "operations/device/operation_call.h"
#include "operations/estimators/estimator.h"
#include "operations/estimators/groups.h"
#include "operations/table/operation_table.h"

namespace ridgeline::operations {

/// Times under the same conditions, and the device that they are of.
struct DeviceTimes {
  Device device;
  std::vector<ListedTime> rows;
};

inline constexpr std::size_t kMostRowsAcross = 8'000;  ///< of a group; more are drawn by a hash of the operation

/// Products of two matrices, batches of them, element-wise operations, and each other operator by itself; by type. What
/// is learnt is a time beside the roofline bound. Folds are devices: a model is judged on a device that it has not
/// seen. Operations without a bound are left out.
std::vector<TrainingGroup> groups_across_devices(std::span<const DeviceTimes> devices);

/// Estimates with `estimators` across devices. Absent where no model is about the operation, it has no bound, or the
/// bound or a feature is more than kMostBeyond outside of what was seen, but for these:
/// - What is no product, has fewer rows than anything that was seen, and needs 10 µs of moving data at least, takes its
///   share of the time with as many rows as were seen. It takes no longer than that, so the interval is wider by it.
/// - A product takes at least as long as at the full clock, and, where the power of the device does not suffice for
///   that, at most as if no FLOP took less energy than on the trained device that needs least. The estimate is the
///   geometric mean of both.
std::optional<Estimate> estimate_across_devices(const Estimators& estimators, std::string_view key,
                                                const Device& device);
std::optional<Estimate> estimate_across_devices(const Estimators& estimators, const OperationCall& call,
                                                const Device& device);

}  // namespace ridgeline::operations
