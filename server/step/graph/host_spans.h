// What the threads of a host did in one iteration: work, and when waits were over.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/iteration_walk.h"
#include "protocol/recording.h"
#include "step/graph/graph.h"

namespace ridgeline::step {

/// A part of a thread's time that becomes one task.
struct HostSpan {
  analysis::CostKey key;
  std::uint64_t begin = 0;  ///< by the recording's clock
  std::uint64_t end = 0;
  double ns = 0;  ///< of work, without the cost of recording
  Kind kind = Kind::kPython;
  std::uint32_t call = recording::kNone;  ///< of the device's runtime, when the span is inside one
  /// The activity that ended a wait (kWait); kNone: it ended with the last work of other threads before.
  std::uint32_t activity = recording::kNone;
  bool after_idle = false;  ///< the thread waited before, for another thread or a device
};

/// By thread of the recording; a thread's in order of time. A wait is a span without length at the time when it is
/// over: the time before it, and time in which a thread other than 0 had nothing to do, belongs to no span.
using HostSpans = std::vector<std::vector<HostSpan>>;

/// `pieces`: by thread, of the same iteration, which is [begin, end).
HostSpans host_spans(const recording::Recording& recording, const std::vector<analysis::HostPieces>& pieces);

}  // namespace ridgeline::step
