// What a use case asks of who runs it: a command, which may wait, or a server, whose loop may not.
#pragma once

#include <functional>
#include <string>

#include "app/profiling/what_if_base.h"
#include "base/task.h"
#include "protocol/experiment.h"

namespace ridgeline::app {

/// Runs experiments on one entry point. Lives on the loop of the tasks that use it, and outlives them.
class ExperimentRunner {
 public:
  ExperimentRunner() = default;
  ExperimentRunner(const ExperimentRunner&) = delete;
  ExperimentRunner& operator=(const ExperimentRunner&) = delete;
  virtual ~ExperimentRunner() = default;

  /// The failure has not been shown to the user.
  virtual base::Task<ExperimentOutcome> run(protocol::Experiment experiment) = 0;
  /// Calls `work`, which may wait for a disk or compute for long. It owns what it uses: it may outlive the task.
  virtual base::Task<void> off_loop(std::function<void()> work) = 0;
  /// The folder with the table of operation times.
  virtual std::string cache() const = 0;
};

}  // namespace ridgeline::app
