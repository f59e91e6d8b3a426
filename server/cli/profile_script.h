// `ridgeline profile SCRIPT`: a training script, or any command, as it is, under any launcher.
#pragma once

#include <string>

#include "app/profiling/script_profile.h"
#include "cli/options.h"

namespace ridgeline::cli {

struct ScriptProfile {
  app::ScriptRequest script;
  std::string step_boundary;
  std::string batch_sizes;  ///< "auto", or sizes; empty: only the script's own
  bool allow_writes = false;
  std::string ranks = "all";  ///< or some, as "0,3"
  std::string job_file;       ///< empty: none
  Output output;
};

/// Runs the command to its end, with its input and output. The exit code: the command's, unless that is 0.
int profile_script(const ScriptProfile& request);

}  // namespace ridgeline::cli
