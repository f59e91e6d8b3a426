// What the runs of an entry file say of its budgets. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/values/profile.h"
#include "app/budgets/budget.h"

namespace ridgeline::app {

/// `runs`: profiles of the entry file, one after the other; at least one. `baseline`: what its baseline is; null: none.
///
/// A time, or a ratio of times, is judged by its confidence interval (analysis/compare/statistics.h): the budgets of
/// the entry hold or are exceeded as stated, all at once, with a probability of 1 - `alpha`. Memory by the least and
/// the most of any run. Of modules and lines, those that match the pattern count together; of modules inside of each
/// other, the outer one.
std::vector<Finding> evaluate(const EntryBudgets& entry, const std::vector<analysis::Profile>& runs,
                              const analysis::Profile* baseline, double alpha);

/// Whether all of `text` matches the pattern. Time |pattern| · |text| at worst.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace ridgeline::app
