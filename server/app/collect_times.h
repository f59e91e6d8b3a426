// Operations of a step timed alone, and the table of their times.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/experiment_runner.h"
#include "app/profiling/what_if_base.h"
#include "base/result.h"
#include "base/task.h"

namespace ridgeline::app {

/// Times that were collected for one answer.
struct CollectedTimes {
  operations::Conditions conditions;
  TimesForAnswer timed{};
  std::vector<std::string> warnings{};  ///< why the table could not be used, each once
};

/// Adds the times of `keys` to `times`: from the table, and what it does not have is measured for at most `seconds` and
/// added to it. Where the table cannot be used, that is a warning, and all are measured. Known times are measured once
/// more as references only for the first of one answer: what follows comes soon after it.
base::Task<base::Result<void, RunFailure>> collect_times(ExperimentRunner& runner,
                                                         std::shared_ptr<CollectedTimes> times,
                                                         std::vector<std::string> keys, double seconds);

}  // namespace ridgeline::app
