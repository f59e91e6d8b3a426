// The changes of a recorded job that are asked for by name, and the space that some of them make for a search.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/optimize/strategy_search.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::jobs {

/// A change of a job, and what it leaves open.
struct ChangedJob {
  std::vector<RecordedJob> jobs;   ///< the likely one, then one for each way in which it may be otherwise
  std::vector<std::string> notes;  ///< sentences: what is not known, or not in it
  RecordedJob unchanged;           ///< what they are to be compared with
};

/// All of `changes` (step/changes/change_table.h) in one job; their order does not matter. Fails when there is no such
/// change, when its argument is none, and when it does not apply.
base::Result<ChangedJob> changed_job(const RecordedJob& job, const std::vector<std::string>& changes);

/// What is searched where nothing is asked for: usual sizes of buckets.
StrategySpace usual_space();

/// The usual space with each of `changes` besides; sizes of buckets that are asked for are searched instead of the
/// usual ones. Fails as changed_job() does.
base::Result<StrategySpace> space_of(const std::vector<std::string>& changes);

}  // namespace ridgeline::jobs
