#include "cli/entry_runs.h"

#include <signal.h>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>
#include <variant>

#include "app/profiling/entry_check.h"
#include "app/profiling/size_chooser.h"
#include "cli/failure_text.h"
#include "cli/terminal.h"
#include "cli/wait_for.h"

namespace ridgeline::cli {

namespace asio = boost::asio;

BlockingWorker::BlockingWorker(worker::WorkerOptions options)
    : reaper_(loop_), worker_(loop_, reaper_, std::move(options)) {}

worker::Finished BlockingWorker::run(const app::PlannedRun& plan, ShowProgress progress) {
  asio::thread_pool pool(1);  // ends before the loop that it posts to
  return wait(progress, [&](worker::EventHandler handler) {
    worker_.run(plan.spec, plan.limits, std::move(handler), app::chooser_of(plan, pool.get_executor()));
  });
}

worker::Finished BlockingWorker::warm_up(worker::RunLimits limits, ShowProgress progress) {
  return wait(progress, [&](worker::EventHandler handler) { worker_.warm_up(limits, std::move(handler)); });
}

worker::Finished BlockingWorker::wait(ShowProgress progress, base::FunctionRef<void(worker::EventHandler)> begin) {
  asio::signal_set interrupts(loop_, SIGINT, SIGTERM);
  interrupts.async_wait([this](const auto& error, int /*signal*/) {
    if (!error) {
      worker_.cancel();
    }
  });
  std::optional<worker::Finished> finished;
  loop_.restart();
  begin([&](worker::Event event) {
    if (const auto* step = std::get_if<protocol::Progress>(&event)) {
      progress(*step);
    } else {
      finished = std::move(std::get<worker::Finished>(event));
      loop_.stop();
    }
  });
  if (!finished.has_value()) {
    loop_.run();
  }
  return std::move(*finished);
}

base::Result<std::unique_ptr<EntryRuns>, ExitCode> open_entry_runs(const app::ProfileRequest& request) {
  auto target = app::find_target(request);
  if (!target) {
    return report_failure(app::FailedProjectRun{target.error(), ""});
  }
  return std::make_unique<EntryRuns>(request, std::move(*target));
}

base::Task<base::Result<app::ProfileRun, app::RunFailure>> EntryRuns::profile() {
  if (auto checked = app::check_entry(target_, std::nullopt); !checked) {
    co_return std::move(checked).error();
  }
  auto profiling = app::profile_entry(*this, request_, target_);
  auto profiled = co_await std::move(profiling);
  line_.reset();
  if (!profiled) {
    co_return std::move(profiled).error();
  }
  co_return std::move(profiled->run);
}

base::Task<std::shared_ptr<worker::Finished>> EntryRuns::run(app::PlannedRun plan, app::RemainingTime& remaining) {
  line_.emplace();
  co_return std::make_shared<worker::Finished>(worker_.run(
      plan, [&](const protocol::Progress& step) { show(step, remaining.of(step, app::RemainingTime::Clock::now())); }));
}

base::Task<app::ExperimentOutcome> EntryRuns::run(protocol::Experiment experiment) {
  const app::PlannedRun plan = app::plan_experiment(request_, target_, std::move(experiment));
  line_.emplace();
  worker::Finished finished = worker_.run(plan, [&](const protocol::Progress& step) { show(step, step); });
  line_.reset();
  co_return app::findings_of(std::move(finished));
}

void EntryRuns::warn(const std::string& text) {
  line_.reset();
  cli::warn(text);
}

base::Task<void> EntryRuns::off_loop(std::function<void()> work) {
  work();
  co_return;
}

base::Result<app::ProfileRun, ExitCode> profile_now(EntryRuns& runs) { return wait_for(runs.target(), runs.profile()); }

base::Result<app::ProfileRun, ExitCode> profile_now(const app::ProfileRequest& request) {
  const auto runs = open_entry_runs(request);
  return runs ? profile_now(**runs) : runs.error();
}

base::Task<base::Result<app::ProfileRun, app::RunFailure>> CommandProfiler::profile(app::ProfileRequest request,
                                                                                    app::Target target) {
  if (interrupts_.came()) {
    co_return app::RunFailure{
        protocol::failure_of(protocol::FailureKind::kCancelled, "start", "The profile was cancelled."), ""};
  }
  EntryRuns runs(request, std::move(target));
  auto profiling = runs.profile();
  co_return co_await std::move(profiling);
}

void CommandProfiler::announce(const std::string& text) { print_error(text); }

}  // namespace ridgeline::cli
