// The changes of a recorded job that a user may ask about.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/recorded_job.h"

namespace ridgeline::commands {

/// Names and arguments of all, for people.
std::string job_change_names();

/// `change`: NAME:ARGUMENT. Fails when there is no such change, when its argument is none, and when it does not apply.
base::Result<cluster::RecordedJob> changed_job(cluster::RecordedJob job, std::string_view change);

}  // namespace ridgeline::commands
