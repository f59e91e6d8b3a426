#include "cli/check_command.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/budgets/evaluate.h"
#include "app/budgets/findings_text.h"
#include "app/budgets/parse_budgets.h"
#include "base/file.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/interrupts.h"
#include "cli/options.h"
#include "cli/profile_now.h"
#include "cli/repeated_profile.h"
#include "cli/stored_profile.h"
#include "cli/terminal.h"

namespace ridgeline::cli {

namespace {

namespace fs = std::filesystem;
using app::EntryBudgets;
using app::EntryFindings;
using app::Verdict;

constexpr const char* kBudgetsFile = "pyproject.toml";
constexpr std::uintmax_t kMostSettingsBytes = 4U << 20U;
/// Runs after which the budgets are judged. The n-th time, a verdict may be wrong with a probability of 5 % / 2ⁿ: that
/// it was judged several times does not make it wrong more often.
constexpr int kLooks[] = {1, 3, 6, 12, 24};
constexpr double kAlpha = 0.05;

struct CheckRequest {
  std::vector<std::string> entries;
  std::string junit;
  bool github = false;
  int max_seconds = 600;
};

/// An entry file with its budgets, and the file that has them.
struct CheckedEntry {
  fs::path file;
  EntryBudgets budgets;
  std::string path;
};

bool on_github() {
  const char* value = std::getenv("GITHUB_ACTIONS");  // NOLINT(concurrency-mt-unsafe): never written
  return value != nullptr && std::string_view(value) == "true";
}

/// The nearest pyproject.toml from the folder up that has budgets; a file without them is passed by.
base::Result<std::vector<CheckedEntry>, ExitCode> budgets_above(fs::path folder) {
  for (std::error_code problem; !folder.empty(); folder = folder.parent_path()) {
    const fs::path file = folder / kBudgetsFile;
    if (fs::is_regular_file(file, problem)) {
      const auto text = base::read_text(file.string(), kMostSettingsBytes);
      auto parsed =
          text ? app::parse_budgets(*text, file.string()) : base::Result<std::vector<EntryBudgets>>(text.error());
      if (!parsed) {
        return usage_error(parsed.error().message());
      }
      std::vector<CheckedEntry> entries;
      for (EntryBudgets& one : *parsed) {
        std::string path = fs::weakly_canonical(folder / one.entry, problem).string();
        entries.push_back({file, std::move(one), std::move(path)});
      }
      if (!entries.empty()) {
        return entries;
      }
    }
    if (folder == folder.root_path()) {
      break;
    }
  }
  return std::vector<CheckedEntry>();
}

base::Result<std::vector<CheckedEntry>, ExitCode> wanted_entries(const CheckRequest& request) {
  std::error_code problem;
  if (request.entries.empty()) {
    auto all = budgets_above(fs::current_path(problem));
    if (all && all->empty()) {
      return usage_error("no pyproject.toml here or above has [tool.ridgeline.budgets]: see docs/user/check.md");
    }
    return all;
  }
  std::vector<CheckedEntry> wanted;
  for (const std::string& name : request.entries) {
    const fs::path path = fs::weakly_canonical(fs::absolute(name, problem), problem);
    auto all = budgets_above(path.parent_path());
    if (!all) {
      return all.error();
    }
    const auto found = std::ranges::find(*all, path.string(), &CheckedEntry::path);
    if (found == all->end()) {
      return usage_error(
          fmt::format("no pyproject.toml above {} has budgets for it, in a table "
                      "[tool.ridgeline.budgets.\"{}\"]",
                      name, path.filename().string()));
    }
    wanted.push_back(std::move(*found));
  }
  return wanted;
}

base::Result<std::optional<analysis::Profile>, ExitCode> baseline_of(const CheckedEntry& entry) {
  if (entry.budgets.baseline.empty()) {
    return std::optional<analysis::Profile>();
  }
  auto profile = stored_profile((entry.file.parent_path() / entry.budgets.baseline).string());
  if (!profile) {
    return usage_error(profile.error().message() + "; ridgeline profile ENTRY --format json --output FILE makes one");
  }
  return std::optional(std::move(*profile));
}

bool is_open(const app::Finding& finding) { return finding.verdict == Verdict::kUndecided; }

/// Profiles the entry until every budget is decided, or the time is spent.
base::Result<EntryFindings, ExitCode> check_entry_file(const CheckedEntry& entry, app::ProfileRequest request,
                                                       const CheckRequest& options, Interrupts& interrupts) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  const auto baseline = baseline_of(entry);
  if (!baseline) {
    return baseline.error();
  }
  request.entry = entry.path;
  const auto target = find_target_or_report(request);
  if (!target) {
    return target.error();
  }
  request = for_comparison(std::move(request), *target);
  if (baseline->has_value() && (*baseline)->batch_size_known && !request.batch_sizes.empty() &&
      (*baseline)->batch_size != request.batch_sizes.front()) {
    return usage_error(fmt::format("the baseline {} is of batch size {}, and {} has {}", entry.budgets.baseline,
                                   (*baseline)->batch_size, entry.budgets.entry, request.batch_sizes.front()));
  }
  EntryFindings result{entry.budgets.entry, 0, 0, {}};
  std::vector<analysis::Profile> runs;
  double alpha = kAlpha;
  for (const int look : kLooks) {
    alpha /= 2;
    while (static_cast<int>(runs.size()) < look && (runs.empty() || seconds() < options.max_seconds)) {
      print_error(fmt::format("{}: run {}", entry.budgets.entry, runs.size() + 1));
      if (interrupts.came()) {
        return ExitCode{kExitCancelled};
      }
      auto run = profile_now(request, *target);
      if (!run) {
        return run.error();
      }
      runs.push_back(std::move(run->profile));
    }
    result.findings = app::evaluate(entry.budgets, runs, baseline->has_value() ? &**baseline : nullptr, alpha);
    if (std::ranges::none_of(result.findings, is_open) || seconds() >= options.max_seconds) {
      break;
    }
  }
  result.runs = static_cast<int>(runs.size());
  result.seconds = seconds();
  return result;
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
  const auto entries = wanted_entries(request);
  if (!entries) {
    return entries.error().value;
  }
  Interrupts interrupts;
  std::vector<EntryFindings> all;
  for (const CheckedEntry& entry : *entries) {
    auto found = check_entry_file(entry, measurement, request, interrupts);
    if (!found) {
      return found.error().value;
    }
    std::string text = app::findings_text(*found);
    if (request.github || on_github()) {
      std::error_code problem;
      text += app::findings_github(*found, fs::relative(entry.file, problem).string());
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
  CLI::App* command =
      app.add_subcommand("check", "Measure whether training steps are within the budgets of pyproject.toml.");
  command->add_option("ENTRY", request->entries, "Entry files; default: all that have budgets");
  add_file_option(*command, "--junit", request->junit, "Write the results to this file as JUnit XML");
  command->add_flag("--github", request->github,
                    "Write annotations for GitHub Actions; default: if GITHUB_ACTIONS is true");
  command
      ->add_option("--max-seconds", request->max_seconds,
                   "How long all runs of an entry file may take: budgets not settled by then are undecided")
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
