// From the state and the history of PyTorch's caching allocator to who holds the memory. Pure.
#pragma once

#include <string>

#include "analysis/values/memory_history.h"
#include "analysis/values/memory_snapshot.h"

namespace ridgeline::analysis {

/// Of the device with most events, or most memory. `project_root`: absolute; lines below it are the user's, and those
/// outside installed packages where it is empty.
MemorySnapshot analyse_snapshot(const MemoryHistory& history, const std::string& project_root);

}  // namespace ridgeline::analysis
