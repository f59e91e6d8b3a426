// A step on devices that it does not run on, from its listed or recorded operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment_runner.h"
#include "app/profiling/step_on_devices.h"
#include "app/profiling/use_case_failure.h"
#include "app/traces/import_file.h"
#include "base/task.h"
#include "jobs/network/cluster_file.h"
#include "report/rendered_devices.h"

namespace ridgeline::app {

/// Each of `names` is that of a data sheet, or a file that device_file.h reads; the price of an hour may follow it, as
/// in "a100=1.10". `prices`, for those without: none, one for all, or one for each in order. Where no device is named,
/// all data sheets. Reads files.
base::Result<std::vector<NamedDevice>> priced_devices(const std::vector<std::string>& names,
                                                      const std::vector<double>& prices);

struct DeviceQuestion {
  std::vector<NamedDevice> devices;
  std::optional<std::int64_t> dataset_size{};  ///< samples
  std::optional<jobs::Cluster> cluster{};      ///< also on several devices
};

struct DeviceAnswer {
  report::OtherDevices devices;         ///< sorted
  std::vector<std::string> warnings{};  ///< what is known here that could not be used
};

/// Lists the operations of the step at its own batch size and at larger ones, and predicts each device's time for them.
/// `entry`: as the user knows it. `batch_size`: the step's own; absent: found by listing it once more.
base::Task<Answer<DeviceAnswer>> predict_devices(ExperimentRunner& runner, std::string entry, std::string project_root,
                                                 std::optional<int> batch_size, DeviceQuestion question);

/// A trace's step.
struct TracedStep {
  TraceOptions trace;
  std::string recorded_on{};  ///< the GPU, as priced_devices() takes a name; empty: as the trace names it
  int batch_size = 0;         ///< 0: not known
};

/// The same of a step of a trace, with what `cache` knows. Runs nothing. Waits for files: for the command line only.
Answer<DeviceAnswer> predict_devices_of_trace(const std::string& cache, const TracedStep& step,
                                              const DeviceQuestion& question);

}  // namespace ridgeline::app
