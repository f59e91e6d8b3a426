// [tool.ridgeline.budgets] of a pyproject.toml. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/budgets/budget.h"
#include "base/result.h"

namespace ridgeline::app {

/// The entries in the order of the file; none without the table. An error is "NAME:LINE:COLUMN: what is wrong and what
/// to do". `name`: of the file, for errors.
base::Result<std::vector<EntryBudgets>> parse_budgets(std::string_view toml, const std::string& name);

}  // namespace ridgeline::app
