// Landlock: the kernel itself refuses what a process may not write, whatever its other threads do meanwhile.
#pragma once

#include "worker/guard/write_rules.h"

namespace ridgeline::worker {

/// For the calling thread and what it starts: nothing is written but below these paths and to devices. Call after
/// PR_SET_NO_NEW_PRIVS. Does as much as the kernel can, nothing where it has no Landlock; whether it did.
bool restrict_writes(const WritablePaths& writable);

}  // namespace ridgeline::worker
