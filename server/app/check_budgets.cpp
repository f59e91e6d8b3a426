#include "app/check_budgets.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/budgets/evaluate.h"
#include "app/budgets/parse_budgets.h"
#include "app/profiling/find_profile.h"
#include "app/profiling/repeated_profile.h"
#include "base/file.h"

namespace ridgeline::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kBudgetsFile = "pyproject.toml";
constexpr std::uintmax_t kMostSettingsBytes = 4U << 20U;
/// Runs after which the budgets are judged. The n-th time, a verdict may be wrong with a probability of 5 % / 2ⁿ: that
/// it was judged several times does not make it wrong more often.
constexpr int kLooks[] = {1, 3, 6, 12, 24};
constexpr double kAlpha = 0.05;

base::Result<std::vector<EntryBudgets>> budgets_in(const fs::path& file) {
  const auto text = base::read_text(file.string(), kMostSettingsBytes);
  return text ? parse_budgets(*text, file.string()) : base::Result<std::vector<EntryBudgets>>(text.error());
}

/// Those of the nearest file from the folder up that has budgets; a file without them is passed by.
base::Result<std::vector<CheckedEntry>> budgets_above(fs::path folder) {
  for (std::error_code problem; !folder.empty(); folder = folder.parent_path()) {
    const fs::path file = folder / kBudgetsFile;
    if (fs::is_regular_file(file, problem)) {
      auto parsed = budgets_in(file);
      if (!parsed) {
        return parsed.error();
      }
      std::vector<CheckedEntry> entries;
      for (EntryBudgets& budgets : *parsed) {
        std::string path = fs::weakly_canonical(folder / budgets.entry, problem).string();
        entries.push_back({file, std::move(budgets), std::move(path)});
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

Answer<std::optional<analysis::Profile>> baseline_of(const CheckedEntry& entry) {
  if (entry.budgets.baseline.empty()) {
    return std::optional<analysis::Profile>();
  }
  auto profile = find_profile((entry.file.parent_path() / entry.budgets.baseline).string());
  if (!profile) {
    return refusal(Cause::kRequest,
                   profile.error().message() + "; ridgeline profile ENTRY --format json --output FILE makes one");
  }
  return std::optional(std::move(*profile));
}

/// Why the baseline says nothing of the runs that are requested; empty: it does.
std::string baseline_problem(const EntryBudgets& budgets, const std::optional<analysis::Profile>& baseline,
                             const ProfileRequest& request) {
  if (!baseline.has_value() || !baseline->batch_size_known || request.batch_sizes.empty() ||
      baseline->batch_size == request.batch_sizes.front()) {
    return "";
  }
  return fmt::format("the baseline {} is of batch size {}, and {} has {}", budgets.baseline, baseline->batch_size,
                     budgets.entry, request.batch_sizes.front());
}

}  // namespace

Answer<std::vector<CheckedEntry>> entries_with_budgets(const std::vector<std::string>& names, const fs::path& folder) {
  if (names.empty()) {
    auto all = budgets_above(folder);
    if (!all) {
      return refusal(Cause::kRequest, all.error());
    }
    if (all->empty()) {
      return refusal(Cause::kRequest,
                     "no pyproject.toml here or above has [tool.ridgeline.budgets]: see docs/user/check.md");
    }
    return std::move(*all);
  }
  std::error_code problem;
  std::vector<CheckedEntry> wanted;
  for (const std::string& name : names) {
    const fs::path path = fs::weakly_canonical(folder / name, problem);
    auto all = budgets_above(path.parent_path());
    if (!all) {
      return refusal(Cause::kRequest, all.error());
    }
    const auto found = std::ranges::find(*all, path.string(), &CheckedEntry::path);
    if (found == all->end()) {
      return refusal(Cause::kRequest, fmt::format("no pyproject.toml above {} has budgets for it, in a table "
                                                  "[tool.ridgeline.budgets.\"{}\"]",
                                                  name, path.filename().string()));
    }
    wanted.push_back(std::move(*found));
  }
  return wanted;
}

base::Task<Answer<EntryFindings>> check_budgets(EntryProfiler& profiler, CheckedEntry entry, ProfileRequest request,
                                                double most_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  const auto baseline = baseline_of(entry);
  if (!baseline) {
    co_return baseline.error();
  }
  request.entry = entry.path;
  const auto target = find_target(request);
  if (!target) {
    co_return FailedProjectRun{target.error(), {}};
  }
  request = for_comparison(std::move(request), *target);
  if (std::string problem = baseline_problem(entry.budgets, *baseline, request); !problem.empty()) {
    co_return refusal(Cause::kRequest, std::move(problem));
  }
  EntryFindings result{entry.budgets.entry, 0, 0, {}};
  std::vector<analysis::Profile> runs;
  double alpha = kAlpha;
  for (const int look : kLooks) {
    alpha /= 2;
    while (static_cast<int>(runs.size()) < look && (runs.empty() || seconds() < most_seconds)) {
      profiler.announce(fmt::format("{}: run {}", entry.budgets.entry, runs.size() + 1));
      auto profiling = profiler.profile(request, *target);
      auto run = co_await std::move(profiling);
      if (!run) {
        co_return FailedProjectRun{run.error(), target->project_root};
      }
      runs.push_back(std::move(run->profile));
    }
    result.findings = evaluate(entry.budgets, runs, baseline->has_value() ? &**baseline : nullptr, alpha);
    const bool is_open =
        std::ranges::find(result.findings, Verdict::kUndecided, &Finding::verdict) != result.findings.end();
    if (!is_open || seconds() >= most_seconds) {
      break;
    }
  }
  result.runs = static_cast<int>(runs.size());
  result.seconds = seconds();
  co_return result;
}

}  // namespace ridgeline::app
