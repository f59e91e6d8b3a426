#include "ingest/nsys_backward.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace ridgeline::ingest {

namespace {

/// An operation counts as a node of autograd when it has a sequence number and a thread of forward. No forward
/// operation has this number.
constexpr std::int64_t kNoForward = std::int64_t{1} << 62;

struct Launch {
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t thread;
};

struct Stretch {
  std::uint64_t start;
  std::uint64_t end;
};

/// The stretches of a thread that are inside ranges: by start, without overlaps.
std::vector<Stretch> outermost_ranges(const Trace& trace, std::uint32_t thread) {
  std::vector<Stretch> found;
  for (const TraceEvent& event : trace.events) {
    if (event.thread == thread && (event.kind == EventKind::kAnnotation || event.kind == EventKind::kOp)) {
      found.push_back({event.start, event.end});
    }
  }
  std::ranges::sort(found, {}, &Stretch::start);
  std::vector<Stretch> merged;
  for (const Stretch& span : found) {
    if (!merged.empty() && span.start < merged.back().end) {
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

/// The range that holds the time.
const Stretch* range_at(const std::vector<Stretch>& ranges, std::uint64_t time) {
  const auto after = std::ranges::upper_bound(ranges, time, {}, &Stretch::start);
  return after != ranges.begin() && std::prev(after)->end > time ? &*std::prev(after) : nullptr;
}

/// The thread, other than `main`, with most launches outside of ranges, if these are most of its launches.
std::optional<std::uint32_t> thread_of_autograd(const Trace& trace, const std::vector<Launch>& launches,
                                                std::uint32_t main) {
  std::vector<std::size_t> all(trace.threads.size());
  std::vector<std::size_t> outside(trace.threads.size());
  std::vector<std::vector<Stretch>> ranges(trace.threads.size());
  std::vector<bool> known(trace.threads.size());
  for (const Launch& launch : launches) {
    if (launch.thread == main) {
      continue;
    }
    if (!known[launch.thread]) {
      ranges[launch.thread] = outermost_ranges(trace, launch.thread);
      known[launch.thread] = true;
    }
    ++all[launch.thread];
    outside[launch.thread] += range_at(ranges[launch.thread], launch.start) == nullptr ? 1U : 0U;
  }
  const auto most = std::ranges::max_element(outside);
  const auto thread = static_cast<std::size_t>(most - outside.begin());
  const bool found = most != outside.end() && *most > 0 && 2 * *most > all[thread];
  return found ? std::optional(static_cast<std::uint32_t>(thread)) : std::nullopt;
}

}  // namespace

void add_backward(Trace& trace, std::uint32_t main) {
  std::vector<Launch> launches;
  for (const TraceEvent& event : trace.events) {
    const std::string_view name = trace.strings[event.name];
    if (event.kind == EventKind::kOp && (event.number > 0 || name.starts_with("autograd::engine::"))) {
      return;
    }
    if (event.kind == EventKind::kCall && base::contains(name, "Launch")) {
      launches.push_back({event.start, event.end, event.thread});
    }
  }
  const std::optional<std::uint32_t> autograd = thread_of_autograd(trace, launches, main);
  if (!autograd.has_value()) {
    return;
  }
  std::ranges::stable_sort(launches, {}, &Launch::start);
  const std::vector<Stretch> ranges = outermost_ranges(trace, *autograd);
  std::vector<Stretch> runs;
  bool goes_on = false;
  for (const Launch& launch : launches) {
    if (launch.thread == *autograd) {
      if (!goes_on) {
        runs.push_back({launch.start, launch.end});
      }
      runs.back().end = std::max(runs.back().end, launch.end);
    }
    goes_on = launch.thread == *autograd || (goes_on && launch.thread != main);
  }
  const auto name = static_cast<std::uint32_t>(trace.strings.size());
  trace.strings.emplace_back("backward");
  for (Stretch& run : runs) {
    // Ranges at its ends are inside.
    const Stretch* first = range_at(ranges, run.start);
    const Stretch* last = range_at(ranges, run.end);
    TraceEvent event;
    event.kind = EventKind::kOp;
    event.name = name;
    event.thread = *autograd;
    event.start = first == nullptr ? run.start : first->start;
    event.end = last == nullptr ? run.end : last->end;
    event.sequence = kNoForward;
    event.number = 1;
    trace.events.push_back(event);
  }
}

}  // namespace ridgeline::ingest
