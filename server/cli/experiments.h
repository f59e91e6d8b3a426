// Experiments on an entry point for a person at a terminal: their progress is shown, and their failures are printed.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "app/experiment_runner.h"
#include "app/profiling/use_case_failure.h"
#include "app/profiling/what_if_base.h"
#include "base/result.h"
#include "base/task.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "protocol/experiment.h"

namespace ridgeline::cli {

/// Runs an experiment, with its progress on the terminal. A failure is printed.
base::Result<worker::ExperimentFindings, ExitCode> run_experiment(EntryRuns& runs, protocol::Experiment experiment);

/// For use cases: waits for each experiment. `runs` outlives it.
class EntryExperiments final : public app::ExperimentRunner {
 public:
  explicit EntryExperiments(EntryRuns& runs) : runs_(runs) {}

  base::Task<app::ExperimentOutcome> run(protocol::Experiment experiment) override;
  base::Task<void> off_loop(std::function<void()> work) override;
  std::string cache() const override;

 private:
  EntryRuns& runs_;
};

/// Runs a use case to its end, on a loop of its own.
template <typename T>
T wait_for(base::Task<T> task) {
  boost::asio::io_context loop;
  std::unique_ptr<T> value;
  boost::asio::co_spawn(loop, std::move(task), [&](const std::exception_ptr& thrown, T result) {
    if (thrown != nullptr) {
      std::rethrow_exception(thrown);
    }
    value = std::make_unique<T>(std::move(result));
  });
  loop.run();
  return std::move(*value);
}

/// Prints the failure.
ExitCode print_failure(const app::RunFailure& failure, const app::Target& target);

/// wait_for() of what fails as runs of the entry point do. A failure is printed.
template <typename T>
base::Result<T, ExitCode> wait_for(const app::Target& target, base::Task<base::Result<T, app::RunFailure>> task) {
  auto result = wait_for(std::move(task));
  if (!result) {
    return print_failure(result.error(), target);
  }
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*result);
  }
}

/// The answer of a use case, run to its end. Why there is none is printed.
template <typename T>
base::Result<T, ExitCode> answer_of(base::Task<app::Answer<T>> task) {
  auto answer = wait_for(std::move(task));
  if (!answer) {
    return report_failure(answer.error());
  }
  return std::move(*answer);
}

}  // namespace ridgeline::cli
