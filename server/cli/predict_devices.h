// The answer of `ridgeline devices`: a step on devices that it does not run on, from its listed or recorded operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/entry_runs.h"
#include "cli/imported_trace.h"
#include "cli/options.h"

namespace ridgeline::cli {

struct DeviceQuestion {
  std::vector<std::string> devices;          ///< names of data sheets, or files that device_file.h reads
  std::vector<double> prices;                ///< by hour: none, one for all, or one for each device in order
  std::optional<std::int64_t> dataset_size;  ///< samples
  std::string cluster;                       ///< the file of one: also on several devices; empty: on one
  std::string recorded_on;                   ///< of a trace: as one of `devices`; empty: as the trace names it
  int recorded_batch_size = 0;               ///< of a trace; 0: not known
};

/// The exit code.
int predict_devices(EntryRuns& runs, const DeviceQuestion& question, const Output& output);

/// The same of a step of a trace. Runs nothing. The exit code.
int predict_devices_of_trace(const TraceOptions& trace, const DeviceQuestion& question, const Output& output);

}  // namespace ridgeline::cli
