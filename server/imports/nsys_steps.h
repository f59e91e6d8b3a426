// Where the training steps of a report of Nsight Systems are, which has no marks for them of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "imports/trace.h"

namespace ridgeline::imports {

struct NsysSteps {
  std::uint32_t thread = 0;                                    ///< of the trace
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;  ///< by time
  std::vector<std::uint32_t> ranges;                           ///< events that mark the steps and nothing else
  std::string how;                                             ///< a sentence for the user
};

/// From ranges of one process, `candidates` of the trace's events. What is there once per step tells where the steps
/// are: each goes from the start of one range to the start of the next, so that what lies between two ranges (waiting
/// for data, as a rule) belongs to the step before; a single range is a step by itself. In this order:
/// ranges that count steps ("step 12"), ranges that are called like steps ("train_step"), other ranges that count
/// ("forward 12"), torch's own around the optimizer, other ranges that repeat. Among equals those that last longest.
std::optional<NsysSteps> steps_of_ranges(const Trace& trace, const std::vector<std::uint32_t>& candidates);

/// Without ranges: from kernels of one process, `kernels` of the trace's events by time. A kernel that follows itself
/// after the same number of others each time is there once per step. Each step goes from one of its launches, which is
/// a call of `calls`, to the next.
std::optional<NsysSteps> steps_of_kernels(const Trace& trace, const std::vector<std::uint32_t>& kernels,
                                          const std::vector<std::uint32_t>& calls);

}  // namespace ridgeline::imports
