// Where what a guarded command writes does not count. Reads the environment and the file system.
#pragma once

#include <string>

#include "worker/guard/write_rules.h"

namespace ridgeline::worker {

/// `temporary`, shared memory but what is in it now, /proc, and the user's caches, as the environment names them.
/// A cache that contains the home folder or the working folder is none.
WritablePaths writable_paths(const std::string& temporary);

}  // namespace ridgeline::worker
