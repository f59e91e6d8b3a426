// A strategy of a recorded job as edits of the user's code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/values/best_strategy.h"
#include "base/function_ref.h"

namespace ridgeline::app {

/// `files`: absolute paths of the user's files that may construct DistributedDataParallel. `read`: the text of one;
/// nothing where it cannot be read. What cannot be written as an edit is said instead. Nothing is written.
std::vector<analysis::StrategyEdit> strategy_edits(
    const analysis::StrategyStep& strategy, const std::vector<std::string>& files,
    base::FunctionRef<std::optional<std::string>(const std::string&)> read);

}  // namespace ridgeline::app
