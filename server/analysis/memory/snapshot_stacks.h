// What the stacks of a memory snapshot say: the line that answers for a block, and what the block is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/values/memory_history.h"
#include "analysis/values/memory_snapshot.h"

namespace ridgeline::analysis {

/// By MemoryStack. Lines are numbered: stacks that end at one line of the user's share a number.
struct SnapshotStacks {
  std::vector<SnapshotLine> lines;         ///< without bytes
  std::vector<std::uint32_t> line_of;      ///< of each stack
  std::vector<MemoryUse> use_of;           ///< of each stack
  std::vector<bool> is_in_optimizer_step;  ///< of each stack
};

SnapshotStacks read_stacks(const MemoryHistory& history, const std::string& project_root);

}  // namespace ridgeline::analysis
