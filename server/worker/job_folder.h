// The folder of a job in the temporary folder, with the socket that its processes find.
#pragma once

#include <string>

#include "base/result.h"

namespace ridgeline::worker {

/// Makes a folder that only this user can read, and removes those that jobs of killed processes have left. Never waits
/// for another process.
base::Result<std::string> make_job_folder();

/// The address of the socket in the folder.
std::string job_address(const std::string& folder);

}  // namespace ridgeline::worker
