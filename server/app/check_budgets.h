// Whether training steps are within the budgets of a pyproject.toml, measured.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/budgets/budget.h"
#include "app/budgets/findings_text.h"
#include "app/entry_profiler.h"
#include "app/profiling/request.h"
#include "app/profiling/use_case_failure.h"
#include "base/task.h"

namespace ridgeline::app {

/// An entry file with its budgets, and the file that has them.
struct CheckedEntry {
  std::filesystem::path file;
  EntryBudgets budgets;
  std::string path;
};

/// The entries of the nearest pyproject.toml from the folder up that has budgets; where `names` are given, these, each
/// with those of the nearest one above it. Reads files.
Answer<std::vector<CheckedEntry>> entries_with_budgets(const std::vector<std::string>& names,
                                                       const std::filesystem::path& folder);

/// Profiles the entry until every budget is decided, or `most_seconds` are spent. `request`: how to measure.
base::Task<Answer<EntryFindings>> check_budgets(EntryProfiler& profiler, CheckedEntry entry, ProfileRequest request,
                                                double most_seconds);

}  // namespace ridgeline::app
