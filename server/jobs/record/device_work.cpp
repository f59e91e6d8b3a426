#include "jobs/record/device_work.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analysis/values/traced_rank.h"
#include "jobs/record/recorded_operations.h"
#include "jobs/record/spans.h"

namespace ridgeline::jobs {

namespace {

using recording::kNone;
using recording::Recording;

/// The operation that called for the activity; kNone: it is not known, or none did.
std::uint32_t call_of(const Recording& recording, std::size_t activity) {
  const std::uint32_t call = recording.activity_call()[activity];
  std::uint32_t op = call == kNone ? kNone : recording.call_op()[call];
  std::uint32_t found = kNone;
  for (; op != kNone; op = recording.op_parent()[op]) {
    if (recording.string(recording.op_name()[op]).starts_with(kCallPrefix)) {
      found = op;
    }
  }
  return found;
}

}  // namespace

DeviceWork device_work(const Recording& recording) {
  DeviceWork work;
  std::vector<Span> computing;
  for (std::size_t i = 0; i < recording.activity_start().size(); ++i) {
    const Interval time{static_cast<std::int64_t>(recording.activity_start()[i]),
                        static_cast<std::int64_t>(recording.activity_end()[i])};
    if (!analysis::is_collective_kernel(recording.string(recording.activity_name()[i]))) {
      computing.push_back({time.started_ns, time.ended_ns});
      continue;
    }
    const std::uint32_t op = call_of(recording, i);
    if (op == kNone) {
      continue;
    }
    Interval& all = work.collectives.try_emplace(op, time).first->second;
    all.started_ns = std::min(all.started_ns, time.started_ns);
    all.ended_ns = std::max(all.ended_ns, time.ended_ns);
  }
  for (const Span& span : merged(std::move(computing))) {
    work.computing.push_back({span.begin, span.end});
  }
  return work;
}

}  // namespace ridgeline::jobs
