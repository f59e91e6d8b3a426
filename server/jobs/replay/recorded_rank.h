// The graph of what one rank of a job did in consecutive recorded steps.
//
// dPRO (MLSys 2022), section 4.1: the thread of the steps as tasks in order, and the collectives that it called beside
// it. The time in which the thread waited for a collective is no task: it waits for the collective's end instead.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/values/input.h"
#include "protocol/communication.h"
#include "protocol/recording.h"
#include "step/graph/graph.h"

namespace ridgeline::jobs {

/// Steps of a rank: consecutive ones of RankRecord::iterations.
struct StepRange {
  std::size_t first = 0;
  std::size_t count = 0;  ///< positive
};

struct RecordedRank {
  step::Graph graph;
  std::vector<step::TaskId> step_ends;     ///< marks, one for each step
  std::vector<std::uint32_t> collectives;  ///< of RankRecord::collectives: those that the steps called
  std::vector<step::TaskId> calls;         ///< the task of each; its duration is not used
  /// By step: the tasks of the thread at whose ends gradients were accumulated, and hooks on them had run.
  std::vector<std::vector<step::TaskId>> gradients;
};

/// When the rank takes part in a collective. Of send and recv the call: no byte moves before both ends have called.
std::int64_t start_ns(const Collective& one);

/// `record` is of the recording. The graph begins `lead_ns` before the first step, by the clock. Durations are
/// by the clock, with the cost of recording. Only the thread of the steps is in it. Where no wait for a collective was
/// recorded, the thread goes on with its result when it was there, and not before the end of backward for a bucket.
/// Pure.
RecordedRank recorded_rank(const recording::Recording& recording, const RankRecord& record,
                           const analysis::SourceScope& scope, StepRange steps, std::int64_t lead_ns);

}  // namespace ridgeline::jobs
