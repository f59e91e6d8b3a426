// A profile as `--format` wants it.
#pragma once

#include <string>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "commands/options.h"

namespace ridgeline::commands {

/// The report, with the lines of the user's files as they are today.
std::string rendered_profile(const analysis::Profile& profile, const analysis::Outlook& outlook, const Output& output);

}  // namespace ridgeline::commands
