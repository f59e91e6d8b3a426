// The graph of a changed step, from the graph of the unchanged one, the operations of both, and times of operations.
//
// Operations that both steps have keep their time in the step, times what the operation takes alone with its new
// arguments over what it takes alone with the old ones (Habitat; Tianshu, section 4): a time alone is not a time inside
// a step, their ratio is nearly so. New ones get their time alone, times what operations of the same name take in the
// step over what they take alone. Page faults are apart from both: how many an operation has depends on what memory is
// free where it runs, and they were observed in each step (operation_log.py, page_fault_times). The host's time before
// operations that are new, have another one before them, or had much less or more of it, is that of the changed step
// (host_time.h). What a device computes is launched by a host, which takes what it takes for the same operation, or for
// those of its name, in the unchanged step; the device computes it after what came before it. A copy to the host is
// awaited there, unless it was told not to block.
#pragma once

#include "protocol/experiment.h"
#include "step/changes/unchanged_step.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

struct RetimedStep {
  Graph graph;
  double changed_before_ns = 0;  ///< of the operations that change or go, in the unchanged step
  double changed_after_ns = 0;   ///< of those that changed or are new
  double assumed_ns = 0;         ///< of changed_after_ns: of operations that were not measured
  double assumed_error_ns = 0;   ///< that these may be wrong by
  double host_ns = 0;            ///< between operations: what went and what came
  /// The part of host_ns before operations that follow the same one in both steps: code of the change, such as hooks.
  /// Where a device works, it may wait for the device, which a step that is not computed does not show.
  double hooks_ns = 0;
  double page_faults_ns = 0;  ///< more than in the unchanged step, or, below 0, less
  /// How far the ratio of an operation's time in the step to its time alone is from that of its name's, typically: 0.1
  /// means 10 %. Judged by the operations of the unchanged step, weighted by time.
  double spread = 0;
};

RetimedStep retime(const UnchangedStep& unchanged, const protocol::CapturedStep& changed, StandaloneTimes times);

}  // namespace ridgeline::step
