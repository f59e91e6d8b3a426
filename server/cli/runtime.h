// What only the processes of this user have: a folder for sockets and secrets.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"

namespace ridgeline::cli {

/// Whether what has this status belongs to this user and is closed to all others.
bool is_only_ours(const struct stat& status);

/// $XDG_RUNTIME_DIR/ridgeline where that belongs to this user and is closed to all others, else the cache folder. Made
/// if it is missing.
base::Result<std::string> runtime_folder();

}  // namespace ridgeline::cli
