// A profile as `--format` wants it.
#pragma once

#include <string>

#include "analysis/values/input.h"
#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "cli/options.h"

namespace ridgeline::cli {

/// Whether a format shows the recording, instant by instant.
bool needs_recording(const std::string& format);

/// The report, with the lines of the user's files as they are today. `recorded` may be null where the format does not
/// need it.
std::string rendered_profile(const analysis::Profile& profile, const analysis::Outlook& outlook,
                             const analysis::RecordedRun* recorded, const Output& output);

}  // namespace ridgeline::cli
