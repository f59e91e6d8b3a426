// The system calls through which a process changes files, or reaches another process: which are looked at, and where
// their arguments say what they change.
#pragma once

#include <linux/filter.h>

#include <optional>
#include <vector>

#include "worker/guard/write_rules.h"

namespace ridgeline::worker {

inline constexpr int kNone = -1;

/// A path among the arguments of a system call, by their numbers.
struct PathArgument {
  int path = kNone;
  int folder =
      kNone;  ///< the descriptor that the path is relative to; kNone: the working folder. Without a path: the file
  bool follows = false;  ///< the last part, where it is a symbolic link
  Change change = Change::kAlter;
};

enum class Reads {
  kPaths,          ///< and AT_SYMLINK_NOFOLLOW, in the argument `flags`
  kOpenFlags,      ///< and flags, in the argument `flags`
  kOpenStructure,  ///< open_how, whose first member are the flags
  kAddress         ///< a socket's, in the argument `flags`, its length in the next
};

struct SystemCall {
  const char* name = "";
  int number = kNone;
  Reads reads = Reads::kPaths;
  int flags = kNone;
  PathArgument first;
  PathArgument second;  ///< without any argument: there is none
};

/// The call with this number; null where it is not one that is examined.
const SystemCall* system_call(int number);

/// The filter: the calls of the table are notified, opening only where it is not for reading alone; what could write
/// unseen does not exist; everything else is allowed.
std::vector<sock_filter> notifying_filter();

}  // namespace ridgeline::worker
