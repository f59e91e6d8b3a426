// A further run of a training script, which may not change files: why it found nothing.
#pragma once

#include <string>

#include "worker/guard/guard_report.h"
#include "worker/job.h"

namespace ridgeline::app {

/// Why the command cannot be run again without changing files, as the end of a sentence; empty where it can.
std::string write_obstacle(const worker::Report& guard);

/// What a run did without, or that it was ended at its time limit, which may be why it failed: sentences after another;
/// else empty.
std::string run_note(const worker::JobEnd& end);

}  // namespace ridgeline::app
