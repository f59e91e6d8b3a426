// Daemons of one user that are to profile the same entry point at the same time, as two windows of an editor: one runs
// it, the others wait, and take what it made.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "app/profiling/request.h"
#include "base/lock_file.h"

namespace ridgeline::app {

/// Another daemon profiles the entry.
struct ProfiledElsewhere {
  bool is_same_request = false;  ///< it measures as long as this request asks for
};

using EntryLock = std::variant<std::optional<base::LockFile>, ProfiledElsewhere>;

/// The lock of the entry; nothing where it cannot be locked, as on a cache that is read-only: then nobody waits. Writes
/// to the cache; for a thread that may wait.
EntryLock lock_entry(const ProfileRequest& request, const Target& target);

}  // namespace ridgeline::app
