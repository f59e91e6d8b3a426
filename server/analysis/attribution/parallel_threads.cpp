#include "analysis/attribution/parallel_threads.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace ridgeline::analysis {

namespace {

using recording::Recording;

struct InOperation {
  std::uint64_t begin;
  std::uint64_t end;
};

/// When the iteration's thread is in an operation; an autograd node or a named range, in which it may wait for another
/// thread, is none. By begin, without those inside others.
std::vector<InOperation> times_in_operations(const Recording& recording, const Attribution& attribution) {
  std::vector<InOperation> found;
  for (std::size_t op = 0; op < recording.op_start().size() && recording.op_thread()[op] == 0; ++op) {
    const InOperation interval{recording.op_start()[op], recording.op_end()[op]};
    if (!attribution.runs_python[op] && (found.empty() || interval.begin >= found.back().end)) {
      found.push_back(interval);
    }
  }
  return found;
}

bool lies_within(const std::vector<InOperation>& intervals, std::uint64_t begin, std::uint64_t end) {
  const auto after = std::ranges::upper_bound(intervals, begin, {}, &InOperation::begin);
  return after != intervals.begin() && end <= std::prev(after)->end;
}

}  // namespace

std::vector<std::uint16_t> parallel_threads(const Recording& recording, const Attribution& attribution) {
  const std::size_t count = recording.thread_torch_id().size();
  std::vector<bool> has_operations(count);
  std::vector<bool> has_others(count);
  const std::vector<InOperation> intervals = times_in_operations(recording, attribution);
  for (std::size_t op = 0; op < recording.op_start().size(); ++op) {
    const std::uint16_t thread = recording.op_thread()[op];
    has_operations[thread] = true;
    if (recording.op_node()[op] != 0 || attribution.runs_python[op] ||
        !lies_within(intervals, recording.op_start()[op], recording.op_end()[op])) {
      has_others[thread] = true;
    }
  }
  for (const std::uint16_t thread : recording.call_thread()) {
    has_others[thread] = true;
  }
  std::vector<std::uint16_t> threads;
  for (std::size_t thread = 1; thread < count; ++thread) {
    if (has_operations[thread] && !has_others[thread]) {
      threads.push_back(static_cast<std::uint16_t>(thread));
    }
  }
  return threads;
}

}  // namespace ridgeline::analysis
