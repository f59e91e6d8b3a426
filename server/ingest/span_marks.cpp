#include "ingest/span_marks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace ridgeline::ingest {

namespace {

/// Events of one thread that are open and may end before those that began later.
constexpr std::size_t kMostOverlapping = 64;

}  // namespace

std::uint64_t pair_marks(std::vector<SpanMark> marks, Trace& trace) {
  if (marks.empty()) {
    return 0;
  }
  std::ranges::stable_sort(marks, {}, [](const SpanMark& mark) { return std::pair(mark.thread, mark.time); });
  std::vector<bool> unwanted(trace.events.size());
  std::vector<SpanMark> open;
  std::uint64_t unpaired = 0;
  const auto leave_open = [&] {
    for (const SpanMark& mark : open) {
      unpaired += mark.event != kNoNumber ? 1 : 0;
      if (mark.event != kNoNumber) {
        unwanted[mark.event] = true;
      }
    }
    open.clear();
  };
  for (const SpanMark& mark : marks) {
    if (!open.empty() && open.back().thread != mark.thread) {
      leave_open();
    }
    if (mark.begins) {
      open.push_back(mark);
      continue;
    }
    const auto last = open.rbegin() + static_cast<std::ptrdiff_t>(std::min(open.size(), kMostOverlapping));
    const auto own =
        std::find_if(open.rbegin(), last, [&](const SpanMark& one) { return mark.name == 0 || one.name == mark.name; });
    if (own == last) {
      ++unpaired;
      continue;
    }
    if (own->event != kNoNumber) {
      trace.events[own->event].end = mark.time;
    }
    open.erase(std::prev(own.base()));
  }
  leave_open();
  if (unpaired > 0) {
    erase_events(trace, unwanted);
  }
  return unpaired;
}

}  // namespace ridgeline::ingest
