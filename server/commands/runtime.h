// What the system gives to this user's processes alone: a folder for sockets and secrets, and numbers nobody can guess.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>

namespace ridgeline::commands {

/// Whether what has this status belongs to this user and is closed to all others.
bool is_only_ours(const struct stat& status);

/// $XDG_RUNTIME_DIR/ridgeline where that belongs to this user and is closed to all others, else the cache folder. Made
/// if it is missing. Throws std::runtime_error with the reason.
std::string runtime_folder();

/// So many random bytes, in base 16. Throws std::runtime_error when the system gives none.
std::string random_digits(std::size_t bytes);

}  // namespace ridgeline::commands
