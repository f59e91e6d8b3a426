// A memory snapshot of PyTorch's caching allocator, for a terminal, as JSON, and as an HTML page.
#pragma once

#include <string>

#include "analysis/values/memory_snapshot.h"
#include "report/text_report.h"

namespace ridgeline::report {

std::string text_snapshot(const analysis::MemorySnapshot& snapshot, const TextOptions& options);
std::string json_snapshot(const analysis::MemorySnapshot& snapshot);
/// Opens offline and runs no scripts.
std::string html_snapshot(const analysis::MemorySnapshot& snapshot);

/// "train.py:12 in forward", "a stack without Python"; not yet escaped.
std::string line_text(const analysis::SnapshotLine& line);
/// "activations", "without a stack".
std::string use_name(analysis::MemoryUse use);
/// What the last out-of-memory error lacked, and what would help, in sentences; empty: there was none.
std::string out_of_memory_text(const analysis::MemorySnapshot& snapshot);
/// What is reserved and not in use at the end, in a sentence; empty: nothing is reserved.
std::string fragments_text(const analysis::MemorySnapshot& snapshot);
/// Likewise.
std::string private_pools_text(const analysis::MemorySnapshot& snapshot);
/// "12.0 MiB a step, in 8 of 10 steps".
std::string growth_text(const analysis::MemorySnapshot& snapshot, const analysis::SnapshotGrowth& growth);

}  // namespace ridgeline::report
