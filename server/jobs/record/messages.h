// Gloo's messages, and which collective each belongs to.
#pragma once

#include <vector>

#include "jobs/record/rank_record.h"
#include "jobs/record/recorded_operations.h"
#include "protocol/communication_trace.h"
#include "protocol/recording.h"

namespace ridgeline::jobs {

/// Adds to `to` the messages with a payload that belong to its collectives, and the calls of send and recv, whose times
/// are those of their messages. `calls` are the operations of those calls. A connection belongs to one group: the one
/// whose collectives explain nine of ten of its messages or more.
void add_messages(const recording::Recording& recording, const protocol::CommunicationTrace& trace,
                  const std::vector<CalledOperation>& calls, TracedRank& to);

/// Sorts the collectives by their call, and the messages by their start.
void sort_by_call(TracedRank& rank);

}  // namespace ridgeline::jobs
