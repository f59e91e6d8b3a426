#include "cli/doctor_command.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "app/check_environment.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "report/checks.h"
#include "worker/cache.h"
#include "worker/interpreter.h"

namespace ridgeline::cli {

namespace {

namespace fs = std::filesystem;
using report::Check;
using report::CheckStatus;

app::FirstStart start_once(const app::ProfileRequest& request) {
  app::FirstStart found;
  std::error_code problem;
  const fs::path entry = request.entry.empty() ? fs::current_path(problem) / "entry.py" : fs::canonical(request.entry);
  const std::string root = request.project_root.empty() ? worker::find_project_root(entry.string())
                                                        : fs::canonical(request.project_root, problem).string();
  found.project_root = root;
  found.interpreter = worker::find_interpreter(request.python, entry.string(), root);
  found.cache = worker::cache_folder();
  if (!found.interpreter.path.empty() && found.cache) {
    ProgressLine line;
    BlockingWorker worker({found.interpreter.path, *found.cache});
    found.warmed = worker.warm_up(worker::RunLimits{request.time_limit}, [&](const protocol::Progress& step) {
      found.built |= step.stage == "build";
      line.show(step, step);
    });
  }
  return found;
}

int run(const app::ProfileRequest& request) {
  if (const std::string problem = request.entry.empty() ? "" : app::entry_problem(request.entry); !problem.empty()) {
    std::cerr << failure_text({protocol::failure_of(protocol::FailureKind::kEntryUnreadable, "start", problem), ""},
                              "");
    return kExitUsage;
  }
  const app::FirstStart found = start_once(request);
  if (found.failed_with(protocol::FailureKind::kCancelled)) {
    std::cerr << "error: cancelled [cancelled]\n";
    return kExitCancelled;
  }
  const std::vector<Check> checks = app::check_environment(found, request);
  const int written = write_out(report::text_checks(checks, text_options({})), {});
  const bool failed = std::ranges::find(checks, CheckStatus::kFail, &Check::status) != checks.end();
  return failed ? kExitEnvironment : written;
}

}  // namespace

void add_doctor_command(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<app::ProfileRequest>();
  CLI::App* command = app.add_subcommand("doctor", "Check what a profile needs, and say how to get what is missing.");
  command->add_option("ENTRY", request->entry,
                      "Entry point that would be profiled; default: the project of the current folder");
  add_place_options(*command, request);
  add_timeout_option(*command, request);
  command->footer(
      "Examples:\n"
      "  ridgeline doctor entry.py\n"
      "  ridgeline doctor --python ~/venv/bin/python");
  command->callback([request, &exit_code] { exit_code = run(*request); });
}

}  // namespace ridgeline::cli
