// Work that may wait for a disk or compute for long, of use cases that a server's loop runs, too.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "app/profiling/profile_run.h"
#include "base/callback.h"
#include "base/result.h"
#include "base/task.h"

namespace ridgeline::app {

/// Lives on the loop of the tasks that use it, and outlives them.
class OffLoop {
 public:
  OffLoop() = default;
  OffLoop(const OffLoop&) = delete;
  OffLoop& operator=(const OffLoop&) = delete;
  virtual ~OffLoop() = default;

  /// Calls `work`: a command here and now, a server on another thread. It owns what it uses: it may outlive the task.
  virtual base::Task<void> off_loop(base::Callback work) = 0;
};

/// What `work` returns, called off the loop. What it throws is a failure: a daemon that ends loses everyone's profiles.
template <typename T, typename Work>
base::Task<base::Result<T, RunFailure>> analysed(OffLoop& runner, Work work) {
  auto outcome = std::make_shared<std::optional<base::Result<T, RunFailure>>>();
  auto working = runner.off_loop([outcome, shared = std::make_shared<Work>(std::move(work))] {
    try {
      outcome->emplace((*shared)());
    } catch (const std::exception& error) {
      outcome->emplace(analysis_failure(error));
    }
  });
  co_await std::move(working);
  co_return std::move(**outcome);
}

}  // namespace ridgeline::app
