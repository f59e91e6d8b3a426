// The changes of a recorded job that a user may ask about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::cli {

/// Names and arguments of all, for people.
std::string job_change_names();

/// A change of a job, and what it leaves open.
struct ChangedJob {
  std::vector<jobs::RecordedJob> jobs;  ///< the likely one, then one for each way in which it may be otherwise
  std::vector<std::string> notes;       ///< sentences: what is not known, or not in it
  jobs::RecordedJob unchanged;          ///< what they are to be compared with
};

/// All of `changes`, each NAME[:ARGUMENT], in one job; the order does not matter. Fails when there is no such change,
/// when its argument is none, and when it does not apply.
base::Result<ChangedJob> changed_job(const jobs::RecordedJob& job, std::vector<std::string> changes);

}  // namespace ridgeline::cli
