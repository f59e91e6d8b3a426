// Other batch sizes of a training script: the command runs again for each, with its data loaders' batch size replaced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/profiling/script_number.h"
#include "app/profiling/script_profile.h"
#include "app/profiling/script_runner.h"
#include "base/result.h"
#include "base/task.h"
#include "protocol/worker_messages.h"
#include "worker/job.h"

namespace ridgeline::app {

/// One further run of the command.
struct SizeRun {
  int batch_size = 0;
  std::vector<protocol::LoaderSize> loader_sizes;  ///< empty: `number` is replaced
};

/// Which runs the request needs, each batch size once; or why there can be none, as a sentence. `number`: of the
/// script, in case its data loaders are not known; nothing: there is none.
base::Result<std::vector<SizeRun>> plan_sizes(const protocol::RunResult& first, const SizesRequest& request,
                                              const std::optional<ScriptNumber>& number);

/// What data loaders that were constructed with these batch sizes are given instead, for a step of `to` samples in
/// place of `from`; empty where they cannot give a step that many.
std::vector<protocol::LoaderSize> scaled_loader_sizes(const std::vector<int>& loader_sizes, int from, int to);

/// Makes these runs, each with half the time for timing that the first one had, and adds what they measured to the
/// processes of the first one. Every run stops once it is measured. Where none can be made, or one would change files
/// before it is measured, the first run's warnings say why; a run that fails is a batch size that was skipped. `first`
/// outlives the task.
base::Task<void> sample_sizes(ScriptRunner& runner, worker::JobEnd& first, worker::JobOptions options,
                              SizesRequest request);

}  // namespace ridgeline::app
