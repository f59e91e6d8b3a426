// What changes are asked about: those of the table, and files with changes that the user wrote.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/experiment.h"
#include "step/changes/change_file.h"
#include "step/changes/change_table.h"

namespace ridgeline::app {

struct WantedChanges {
  std::vector<protocol::ChangeRequest> requests;
  step::UserChanges user_changes;  ///< of files, by request
};

/// Each change of a step (step/changes/change_table.h) and each file alone and, where there are several, all together;
/// `usual` where there is none. Reads the files. A change in Python only has to exist: make_python_changes() does the
/// rest. The error names the change, or the file.
base::Result<WantedChanges> wanted_changes(step::Subject subject, const std::vector<std::string>& changes,
                                           const std::vector<std::string>& files,
                                           const std::vector<protocol::ChangeRequest>& usual);

}  // namespace ridgeline::app
