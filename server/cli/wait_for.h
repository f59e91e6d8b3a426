// Use cases, run to their end by a command.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "app/profiling/request.h"
#include "app/profiling/use_case_failure.h"
#include "base/result.h"
#include "base/task.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"

namespace ridgeline::cli {

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

/// wait_for() of what fails as runs of the entry point do. A failure is printed.
template <typename T>
base::Result<T, ExitCode> wait_for(const app::Target& target, base::Task<base::Result<T, app::RunFailure>> task) {
  auto result = wait_for(std::move(task));
  if (!result) {
    return report_failure(app::FailedProjectRun{result.error(), target.project_root});
  }
  return std::move(*result);
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
