// The profile of a trace that another profiler recorded. Waits for the file: for the command line only.
#pragma once

#include "analysis/values/input.h"
#include "analysis/values/profile.h"
#include "app/traces/import_file.h"

namespace ridgeline::app {

struct TraceProfile {
  analysis::Profile profile;
  analysis::RecordedRun recorded;
};

/// Analyses the trace. Runs nothing.
Answer<TraceProfile> profile_of_trace(const TraceOptions& options);

}  // namespace ridgeline::app
