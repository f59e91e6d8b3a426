// Changes of a step that another profiler recorded, predicted from its graph. Waits for the file: for the command line
// only.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/values/what_if.h"
#include "app/profiling/what_if_base.h"
#include "app/traces/import_file.h"
#include "protocol/experiment.h"
#include "step/changes/change_file.h"

namespace ridgeline::app {

struct TracedBase {
  WhatIfBase base;
  analysis::WhatIf answer;  ///< without rows
  bool has_all_kernels = true;
};

/// The step, for predictions of that many changes. Runs nothing.
Answer<TracedBase> what_if_of_trace(const TraceOptions& trace, std::size_t changes);

/// The answer with a row for each request: those that the graph alone cannot answer say so.
analysis::WhatIf answer_from_trace(const TracedBase& traced, const std::vector<protocol::ChangeRequest>& requests,
                                   const step::UserChanges& user);

}  // namespace ridgeline::app
