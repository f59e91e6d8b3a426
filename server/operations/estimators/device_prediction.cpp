#include "operations/estimators/device_prediction.h"

#include <span>

#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"
#include "operations/estimators/across_devices.h"

namespace ridgeline::operations {

namespace {

struct Sums {
  double low = 0;
  double middle = 0;
  double high = 0;
};

void add(Sums& sums, double low, double middle, double high, int count) {
  sums.low += low * count;
  sums.middle += middle * count;
  sums.high += high * count;
}

bool is_wider(const Estimate& one, const Estimate& other) { return one.high * other.low > other.high * one.low; }

/// From times on other devices.
void add_elsewhere(TimeBySource& sources, Sums& sums, const CountedOperation& operation, const Device& device,
                   std::span<const TimeElsewhere> elsewhere, const Estimators* estimators) {
  const auto across = estimators == nullptr || !operation.call
                          ? std::nullopt
                          : estimate_across_devices(*estimators, *operation.call, device);
  const auto scaled =
      operation.work ? operations::scaled(*operation.call, *operation.work, device, elsewhere) : std::nullopt;
  const int count = operation.count;
  if (scaled && (!across || is_wider(*across, *scaled))) {
    add(sums, scaled->low, scaled->ns, scaled->high, count);
    sources.scaled_ns += scaled->ns * count;
    sources.scaled += count;
  } else if (across) {
    add(sums, across->low, across->ns, across->high, count);
    sources.across_ns += across->ns * count;
    sources.across += count;
  } else if (const auto least = operation.work ? least_ns(*operation.call, *operation.work, device) : std::nullopt) {
    add(sums, *least, *least, *least, count);
    sources.bound_ns += *least * count;
    sources.bounded += count;
    sources.not_predicted_ns += operation.recorded_ns * count;
  } else {
    sources.unknown += count;
    sources.not_predicted_ns += operation.recorded_ns * count;
  }
}

void add_operation(StepOnDevice& found, Sums& sums, const CountedOperation& operation, const Device& device,
                   const std::optional<ListedTime>& measured, std::span<const TimeElsewhere> elsewhere,
                   const StepEstimators& estimators) {
  TimeBySource& sources = found.sources;
  const int count = operation.count;
  sources.recorded_ns += operation.recorded_ns * count;
  if (measured) {
    add(sums, measured->time.low, measured->time.ns, measured->time.high, count);
    sources.measured_ns += measured->time.ns * count;
    sources.measured += count;
    return;
  }
  const auto estimated =
      estimators.of_device == nullptr ? std::nullopt : estimate(*estimators.of_device, operation.key);
  if (estimated) {
    add(sums, estimated->low, estimated->ns, estimated->high, count);
    sources.estimated_ns += estimated->ns * count;
    sources.estimated += count;
    return;
  }
  add_elsewhere(sources, sums, operation, device, elsewhere, estimators.across);
}

std::optional<bool> fits(const StepOnDevice& step, double capacity) {
  if (step.held.has_value()) {
    const bool may_fit = step.held->low <= capacity;
    return may_fit && step.held->high > capacity ? std::nullopt : std::optional(may_fit);
  }
  return step.peak_bytes.has_value() ? std::optional(static_cast<double>(*step.peak_bytes) <= capacity) : std::nullopt;
}

}  // namespace

StepOnDevice step_on_device(const ListedStep& step, const Device& device, const KnownOfStep& known,
                            const StepEstimators& estimators) {
  StepOnDevice found{.batch_size = step.batch_size, .peak_bytes = step.peak_bytes};
  if (device.kind == DeviceKind::kGpu) {
    found.held = step.held;
  }
  found.sources.unknown = step.not_listed;
  Sums sums;
  for (std::size_t i = 0; i < step.operations.size(); ++i) {
    add_operation(found, sums, step.operations[i], device, known.measured[i],
                  known.elsewhere.empty() ? std::span<const TimeElsewhere>() : known.elsewhere[i], estimators);
  }
  found.low_ns = sums.low;
  const TimeBySource& sources = found.sources;
  const int timed = sources.measured + sources.estimated + sources.across + sources.scaled;
  const int all = timed + sources.bounded + sources.unknown;
  const bool is_known = sources.recorded_ns > 0 ? sources.not_predicted_ns <= kMostBounded * sources.recorded_ns
                                                : sources.unknown <= kMostBounded * all;
  if (sums.middle > 0 && sources.bound_ns <= kMostBounded * sums.middle && is_known && timed > 0) {
    found.ns = sums.middle;
    found.high_ns = sums.high;
  }
  if (device.memory_capacity_bytes) {
    found.fits = fits(found, device.memory_capacity_bytes->value);
  }
  return found;
}

}  // namespace ridgeline::operations
