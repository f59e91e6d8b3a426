// Which stack owns each op: backward ops go to the forward op that made their autograd node.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/call_tree.h"
#include "analysis/values/profile.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// Per op of the recording, in its order.
struct Attribution {
  CallTree tree;                           ///< the recording's stacks, and those that own backward ops
  std::vector<TreeNode> owner{};           ///< the stack that answers for the op
  std::vector<std::uint32_t> operation{};  ///< string of the recording: the operation that the user wrote; 0 for Python
  std::vector<Phase> phase{};
  std::vector<bool> runs_python{};       ///< may run Python itself: an autograd node or Function, a named range
  std::vector<bool> starts_operation{};  ///< an operation of the user's starts with it
};

/// Matching: a forward op carries the sequence number of the next autograd node on its thread; the last such op before
/// the node is the one that made it. AccumulateGrad, and what the engine does between nodes, follow the node before.
/// Ops inside a node keep the Python frames that they have beyond the node's own; those of a recomputation are placed
/// where the forward was.
Attribution attribute(const recording::Recording& recording, const SourceScope& scope);

/// Whether the autograd engine runs the phase, so that forward stacks own its ops.
inline bool in_backward(Phase phase) { return phase == Phase::kBackward || phase == Phase::kRecomputation; }

/// How many backward passes the first iteration has, each with forward operations before it.
int backward_passes(const recording::Recording& recording, const Attribution& attribution);

/// The phase of Python code that runs at a stack, outside any op.
Phase python_phase(const CallTree::Node& node);

}  // namespace ridgeline::analysis
