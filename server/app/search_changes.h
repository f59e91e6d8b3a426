// The best combination of changes, and what trying changes shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/values/what_if.h"
#include "app/experiment_runner.h"
#include "app/predict_changes.h"
#include "app/profiling/what_if_base.h"
#include "base/result.h"
#include "base/task.h"

namespace ridgeline::app {

/// Combinations that a search tries.
inline constexpr std::size_t kMostTried = 3;

/// Predicts what is asked, then the best with one change more as long as that is predicted to gain. `memory_bytes`,
/// where it is given, limits the predicted peak: rows above it are left out.
base::Task<base::Result<analysis::WhatIf, RunFailure>> search_changes(ExperimentRunner& runner, PredictedStep step,
                                                                      ChangeQuestion question,
                                                                      std::optional<std::uint64_t> memory_bytes,
                                                                      ShowFirst show);

/// Runs each change of the answer that the runner can make, at most `most` of them, best first, in turns with the
/// unchanged step for `seconds`, and adds what that showed.
base::Task<base::Result<analysis::WhatIf, RunFailure>> try_changes(ExperimentRunner& runner, analysis::WhatIf answer,
                                                                   std::size_t most, double seconds);

/// The same of `changes`, which are rows of the answer, whatever was said of them before. Of one that was not tried the
/// row says why.
base::Task<base::Result<analysis::WhatIf, RunFailure>> try_these(ExperimentRunner& runner, analysis::WhatIf answer,
                                                                 std::vector<protocol::ChangeRequest> changes,
                                                                 double seconds);

}  // namespace ridgeline::app
