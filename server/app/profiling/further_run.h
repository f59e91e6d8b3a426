// A further run of a training script, which may not change files: why it found nothing.
#pragma once

#include <string>

#include "worker/guard/guard_report.h"

namespace ridgeline::app {

/// Why the command cannot be run again without changing files, as the end of a sentence; empty where it can.
std::string write_obstacle(const worker::Report& guard);

/// What a run did without, which may be why it failed, as a sentence after another; else empty.
std::string kept_from(const worker::Report& guard);

}  // namespace ridgeline::app
