// What a use case needs from its caller: either a command, which may block, or a server, whose event loop may not.
#pragma once

#include <string>

#include "app/profiling/off_loop.h"
#include "app/profiling/what_if_base.h"
#include "base/task.h"
#include "protocol/experiment.h"

namespace ridgeline::app {

/// Runs experiments on one entry point. Lives on the loop of the tasks that use it, and outlives them.
class ExperimentRunner : public OffLoop {
 public:
  /// A failure is returned, not shown: the caller has to tell the user.
  virtual base::Task<ExperimentOutcome> run(protocol::Experiment experiment) = 0;
  /// The folder with the table of operation times.
  virtual std::string cache() const = 0;
};

}  // namespace ridgeline::app
