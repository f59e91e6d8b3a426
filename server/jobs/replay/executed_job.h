// A job of which each rank is an execution trace: its ranks as a graph that can be replayed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/values/execution_trace.h"
#include "base/result.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::jobs {

struct ExecutedJob {
  /// Without what the traces do not have: when steps began (`recorded_ns` is empty), gradients, and phases. Where all
  /// ranks have the marks of Ridgeline's own traces ("end of step 41"), with their steps; else all is one step, 0.
  RecordedJob job;
  std::vector<std::string> warnings{};  ///< sentences
};

/// A rank's host runs one node at a time, and so does its device, in the order in which they are ready; communication
/// and memory have no resource. Collectives of a group are matched by their order in the files, messages by their ends
/// and tag. Communication takes its duration from when the last rank that it waits for has begun (awaits_of()). Fails
/// for a node that waits for one that is not there, and for a rank that is there twice. Pure.
base::Result<ExecutedJob> executed_job(const std::vector<analysis::ExecutionTrace>& traces);

}  // namespace ridgeline::jobs
