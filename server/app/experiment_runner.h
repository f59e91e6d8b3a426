// What a use case asks of who runs it: a command, which may wait, or a server, whose loop may not.
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
  /// The failure has not been shown to the user.
  virtual base::Task<ExperimentOutcome> run(protocol::Experiment experiment) = 0;
  /// The folder with the table of operation times.
  virtual std::string cache() const = 0;
};

}  // namespace ridgeline::app
