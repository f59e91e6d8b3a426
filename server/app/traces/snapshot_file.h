// A memory snapshot that torch.cuda.memory._dump_snapshot wrote. Waits for the file: for the command line only.
#pragma once

#include <string>

#include "analysis/values/memory_snapshot.h"
#include "app/profiling/use_case_failure.h"

namespace ridgeline::app {

/// `project_root`: lines below it are the user's; empty: those outside installed packages. Runs nothing.
Answer<analysis::MemorySnapshot> memory_snapshot(const std::string& path, const std::string& project_root);

}  // namespace ridgeline::app
