// What changes of a step would bring, predicted: first from the recording alone, then from the operations that differ,
// timed alone, and at last from the times of all.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "analysis/values/what_if.h"
#include "app/collect_times.h"
#include "app/experiment_runner.h"
#include "app/profiling/what_if_base.h"
#include "base/result.h"
#include "base/task.h"
#include "step/changes/change_file.h"

namespace ridgeline::app {

/// A step that changes are predicted for, and the times that were collected for it so far.
struct PredictedStep {
  std::shared_ptr<const WhatIfBase> base;
  std::shared_ptr<CollectedTimes> times;
  step::UserChanges user{};
  double measure_seconds = 60;  ///< at most, for timing operations that are not known
  bool is_judged = true;        ///< judge_predictions() is applied
};

/// For times of operations under the conditions of a profile.
std::shared_ptr<CollectedTimes> no_times(const analysis::Environment& environment);

/// A change's row before the whole answer is there, which may move it a little: on the loop, for each change once from
/// the recording, where a rule says something, and once from the times of what differs.
using ShowFirst = std::function<void(const analysis::ChangeAnswer&)>;

struct PredictedChanges {
  analysis::WhatIf answer;
  bool is_whole = true;  ///< false: the runner did not come to the end of its list of changes
  /// What the runner listed: Captured::change is one more than the index among those requests that it makes a part of.
  std::vector<protocol::Captured> captured{};
};

struct ChangeQuestion {
  std::vector<protocol::ChangeRequest> requests;          ///< each is a row of the answer
  std::vector<protocol::ChangeRequest> where_possible{};  ///< these only where they apply; none of the runner's
  /// Also what the caching allocator of the step's device reserves (PredictedChange::reserved_bytes). Steps are then
  /// listed on the host, where those have room too that the device has none for. Nothing of a step on the host.
  bool reserves = false;
};

/// The question of a user who names no change.
ChangeQuestion usual_question();

/// Rows that gain most come first. `step.times` has what was timed, also for what is asked next. The counts of
/// operations, and of those that were disturbed, are of all that was asked with these times.
base::Task<base::Result<PredictedChanges, RunFailure>> predict_changes(ExperimentRunner& runner, PredictedStep step,
                                                                       ChangeQuestion question, ShowFirst show);

}  // namespace ridgeline::app
