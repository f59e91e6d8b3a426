#include "operations/table/measuring_plan.h"

#include <algorithm>
#include <optional>

#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"
#include "operations/table/plausibility_check.h"
#include "operations/table/shapes_only.h"
#include "operations/table/time_csv.h"
#include "operations/table/times_on_device.h"

namespace ridgeline::operations {

namespace {

// As profiler/runner/ridgeline_runner/measure/operation_times.py measures: calls before the first sample, samples, and
// the time of a sample, which is one call of a slow operation.
constexpr double kFirstCalls = 3;
constexpr double kLeastSamples = 3;
constexpr double kSampleS = 1e-3;
// Filling tensors with random numbers, on one processor.
constexpr double kFastFillBytesPerS = 2e9;

void add_cost(MeasuringPlan& plan, const Device* device, const std::string& key) {
  const auto work = work_of(key);
  const double bytes = work ? work->read_bytes : 0;
  std::optional<RooflineBound> bound;
  if (work && device != nullptr) {
    bound = plain_roofline(*work, *device, device->compute_units);
  }
  plan.not_modelled += bound ? 0 : 1;
  const double call_s = bound ? bound->ns * 1e-9 : 0;
  plan.least_s += kFirstCalls * call_s + kLeastSamples * std::max(kSampleS, call_s) + bytes / kFastFillBytesPerS;
}

}  // namespace

base::Result<MeasuringPlan> plan_measuring(OperationTable& table, const std::string& device,
                                           std::span<const std::string> keys) {
  const Device* sheet = gpu_sheet(device);
  MeasuringPlan plan{.device = device, .has_data_sheet = sheet != nullptr};
  const std::vector<std::string> told = shapes_only(keys);
  plan.kept_here = static_cast<int>(keys.size() - told.size());
  std::vector<std::string> there;
  there.reserve(told.size());
  for (const std::string& key : told) {
    there.push_back(key_on(key, sheet != nullptr ? "cuda" : "cpu"));
  }
  std::ranges::sort(there);
  there.erase(std::ranges::unique(there).begin(), there.end());
  const auto found = times_on_device(table, device, there);
  if (!found) {
    return found.error();
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    if ((*found)[i].has_value()) {
      plan.known.push_back(there[i]);
    } else {
      plan.missing.push_back(there[i]);
      add_cost(plan, sheet, there[i]);
    }
  }
  return plan;
}

}  // namespace ridgeline::operations
