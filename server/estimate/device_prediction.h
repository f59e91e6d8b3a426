// The time of a training step on a device that it did not run on: from its listed operations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estimate/estimator.h"
#include "hardware/device.h"
#include "operations/operation_table.h"

namespace ridgeline::estimate {

/// An operation of a step, and how often it has it.
struct CountedOperation {
  std::string key;
  int count = 1;
};

/// A step at one batch size.
struct ListedStep {
  int batch_size = 1;
  std::vector<CountedOperation> operations{};
  std::uint64_t peak_bytes = 0;  ///< of tensors, weights and inputs included; not what operations need for themselves
  int not_listed = 0;            ///< operations whose arguments could not be written down
};

/// Where the time of a step's operations comes from: nanoseconds of each, and how many operations.
struct TimeBySource {
  double measured_ns = 0;   ///< on that device, by whomever
  double estimated_ns = 0;  ///< learnt from other operations on that device
  double across_ns = 0;     ///< learnt from operations on other devices
  double bound_ns = 0;      ///< the least that the roofline of its description allows
  int measured = 0;
  int estimated = 0;
  int across = 0;
  int bounded = 0;
  int unknown = 0;  ///< not modelled at all: they count nothing
};

struct StepOnDevice {
  int batch_size = 1;
  TimeBySource sources{};
  double low_ns = 0;                ///< of the sum of the operations; no run is much faster
  std::optional<double> ns{};       ///< the estimate; absent where more than kMostBounded of it would be bounds
  std::optional<double> high_ns{};  ///< likewise
  std::uint64_t peak_bytes = 0;
  std::optional<bool> fits{};  ///< false: it cannot; true: its tensors do. Absent: the capacity is not known
};

inline constexpr double kMostBounded = 0.1;  ///< of the time, that bounds and unknown operations may make up

/// Null: none.
struct StepEstimators {
  const Estimators* of_device = nullptr;
  const Estimators* across = nullptr;  ///< devices: for what the former do not estimate
};

/// `measured`: by operation of the step, the time on that device where it is known. The device's own clock of
/// operations only: what the host takes to launch them, and communication, are not in it. Ranges of operations are
/// added up: estimates of one model err in the same direction.
StepOnDevice step_on_device(const ListedStep& step, const hardware::Device& device,
                            std::span<const std::optional<operations::ListedTime>> measured,
                            const StepEstimators& estimators);

}  // namespace ridgeline::estimate
