// What `ridgeline what-if` is asked about, from its options.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/exit_codes.h"
#include "protocol/experiment.h"
#include "step/changes/change_file.h"

namespace ridgeline::cli {

struct WantedChanges {
  std::vector<protocol::ChangeRequest> requests;
  step::UserChanges user_changes;  ///< of files, by request
};

/// Each change and each file alone and, where there are several, all together; `usual` where there is none. What is
/// wrong with one is written to stderr.
base::Result<WantedChanges, ExitCode> wanted_changes(const std::vector<std::string>& changes,
                                                     const std::vector<std::string>& files,
                                                     const std::vector<protocol::ChangeRequest>& usual);

}  // namespace ridgeline::cli
