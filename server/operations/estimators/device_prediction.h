// The time of a training step on a device that it did not run on: from its listed operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operations/device/device.h"
#include "operations/device/operation_call.h"
#include "operations/device/operation_work.h"
#include "operations/estimators/estimator.h"
#include "operations/estimators/scaled_time.h"
#include "operations/table/operation_table.h"

namespace ridgeline::operations {

/// An operation of a step, and how often it has it. Read once, for many devices.
struct CountedOperation {
  explicit CountedOperation(std::string of_key, int times = 1, double recorded = 0)
      : key(std::move(of_key)),
        count(times),
        recorded_ns(recorded),
        call(parse_call(key)),
        work(call ? work_of(*call) : std::nullopt) {}

  std::string key;
  int count;
  double recorded_ns;                 ///< of one of them, on the device of RecordedOn; 0: no trace
  std::optional<OperationCall> call;  ///< absent: not a key of ours
  std::optional<OperationWork> work;  ///< absent: not modelled
};

/// Where a trace was recorded, and the shortest and the longest of its steps beside the one that is listed.
struct RecordedOn {
  Device device;
  double low = 1;
  double high = 1;
};

/// Bytes that a process holds on a device.
struct HeldBytes {
  double low = 0;
  double high = 0;
};

/// A step at one batch size.
struct ListedStep {
  int batch_size = 1;  ///< 0: not known, as of a trace
  std::vector<CountedOperation> operations{};
  /// The peak of tensors, weights and inputs included, without workspaces of operations. Absent: not known.
  std::optional<std::uint64_t> peak_bytes{};
  std::optional<HeldBytes> held{};  ///< on a GPU; absent: not known
  int not_listed = 0;               ///< operations whose arguments could not be written down
  std::optional<RecordedOn> recorded_on{};
};

/// Where the time of a step's operations comes from: nanoseconds of each, and how many operations.
struct TimeBySource {
  double measured_ns = 0;   ///< on that device, by whomever
  double estimated_ns = 0;  ///< learnt from other operations on that device
  double across_ns = 0;     ///< learnt from operations on other devices
  double scaled_ns = 0;     ///< of the same kernel on another device, scaled
  double bound_ns = 0;      ///< the least that the roofline of its description allows
  int measured = 0;
  int estimated = 0;
  int across = 0;
  int scaled = 0;
  int bounded = 0;
  int unknown = 0;              ///< not modelled at all: they count nothing
  double recorded_ns = 0;       ///< that all operations took in the trace
  double not_predicted_ns = 0;  ///< of that, those that are bounded or unknown here
};

struct StepOnDevice {
  int batch_size = 1;
  TimeBySource sources{};
  double low_ns = 0;                ///< of the sum of the operations; no run is much faster
  std::optional<double> ns{};       ///< the estimate; absent where more than kMostBounded of it would be bounds
  std::optional<double> high_ns{};  ///< likewise
  std::optional<std::uint64_t> peak_bytes{};  ///< of tensors
  std::optional<HeldBytes> held{};            ///< on a GPU; absent: not known
  /// Of `held`, else of `peak_bytes`. Absent: not known, or the capacity lies within `held`.
  std::optional<bool> fits{};
};

/// The largest share of the time that bounds and unknown operations may make up, also of the time in the trace, where
/// there is one. Without a trace, unknown operations count by their number.
inline constexpr double kMostBounded = 0.1;

/// Null: none.
struct StepEstimators {
  const Estimators* of_device = nullptr;
  const Estimators* across = nullptr;  ///< devices: for what the former do not estimate
};

/// What is known of a step's operations, by operation of the step.
struct KnownOfStep {
  std::vector<std::optional<ListedTime>> measured{};    ///< on that device
  std::vector<std::vector<TimeElsewhere>> elsewhere{};  ///< on other devices; empty: nothing is known
};

/// Predicts a step. An operation that was not measured on the device gets its estimate there; else, of what was learnt
/// on other devices and what is scaled from one of them, the one with the narrower range. Counts the device's time in
/// operations only: launches by the host, and communication, are not in it. Ranges of operations are added up:
/// estimates of one model err in the same direction.
StepOnDevice step_on_device(const ListedStep& step, const Device& device, const KnownOfStep& known,
                            const StepEstimators& estimators);

}  // namespace ridgeline::operations
