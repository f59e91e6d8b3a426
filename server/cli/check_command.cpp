#include "cli/check_command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/budgets/findings_text.h"
#include "app/check_budgets.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/wait_for.h"

namespace ridgeline::cli {

namespace {

using app::EntryFindings;
using app::Verdict;

struct CheckRequest {
  std::vector<std::string> entries;
  std::string junit;
  bool github = false;
  int max_seconds = 600;
};

bool on_github() {
  const char* value = std::getenv("GITHUB_ACTIONS");  // NOLINT(concurrency-mt-unsafe): never written
  return value != nullptr && std::string_view(value) == "true";
}

int exit_code_of(const std::vector<EntryFindings>& all) {
  const auto any = [&](Verdict verdict) {
    return std::ranges::any_of(all, [&](const EntryFindings& one) {
      return std::ranges::find(one.findings, verdict, &app::Finding::verdict) != one.findings.end();
    });
  };
  return any(Verdict::kNoMatch)     ? kExitUsage
         : any(Verdict::kOver)      ? kExitOverBudget
         : any(Verdict::kUndecided) ? kExitUndecided
                                    : kExitOk;
}

int run(const CheckRequest& request, const app::ProfileRequest& measurement) {
  std::error_code problem;
  const auto entries = app::entries_with_budgets(request.entries, std::filesystem::current_path(problem));
  if (!entries) {
    return report_failure(entries.error());
  }
  CommandProfiler profiler;
  std::vector<EntryFindings> all;
  for (const app::CheckedEntry& entry : *entries) {
    auto found = answer_of(app::check_budgets(profiler, entry, measurement, request.max_seconds));
    if (!found) {
      return found.error();
    }
    std::string text = app::findings_text(*found);
    if (request.github || on_github()) {
      text += app::findings_github(*found, std::filesystem::relative(entry.file, problem).string());
    }
    if (const int failed = write_out(text, {}); failed != kExitOk) {
      return failed;
    }
    all.push_back(std::move(*found));
  }
  if (!request.junit.empty()) {
    if (const int failed = write_out(app::findings_junit(all), {"text", request.junit}); failed != kExitOk) {
      return failed;
    }
  }
  return exit_code_of(all);
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<CheckRequest>();
  auto measurement = std::make_shared<app::ProfileRequest>();
  measurement->time_budget_seconds = 2;
  CLI::App* command = app.add_subcommand(
      "check", "Check by measurement that training steps stay within the budgets of pyproject.toml.");
  command->add_option("ENTRY", request->entries, "Entry files; default: all that have budgets");
  add_file_option(*command, "--junit", request->junit, "Write the results to this file as JUnit XML");
  command->add_flag("--github", request->github,
                    "Write annotations for GitHub Actions; default: if GITHUB_ACTIONS is true");
  command
      ->add_option("--max-seconds", request->max_seconds,
                   "Time limit for all runs of an entry file, in seconds; budgets still unsettled by then are reported "
                   "as undecided")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  add_measurement_options(*command, measurement);
  command->footer(
      "Exit status: 0 within all budgets, 1 over one, 4 undecided, 2 a budget or the command line is wrong.\n"
      "Examples:\n"
      "  ridgeline check\n"
      "  ridgeline check train/entry.py --junit results.xml");
  command->callback([request, measurement, &exit_code] { exit_code = run(*request, *measurement); });
}

}  // namespace ridgeline::cli
