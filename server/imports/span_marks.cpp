#include "imports/span_marks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace ridgeline::imports {

namespace {

/// Events of one thread that are open and may end before those that began later.
constexpr std::size_t kMostOverlapping = 64;

/// Takes out what is not wanted, with all that names it.
void keep_events(const std::vector<bool>& wanted, Trace& trace) {
  std::vector<std::uint32_t> index(wanted.size());
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    index[i] = count;
    if (wanted[i]) {
      trace.events[count++] = trace.events[i];
    }
  }
  trace.events.resize(count);
  const auto renumber = [&](auto& of_events) {
    std::erase_if(of_events, [&](const auto& one) { return !wanted[one.event]; });
    for (auto& one : of_events) {
      one.event = index[one.event];
    }
  };
  renumber(trace.collectives);
  renumber(trace.inputs);
}

}  // namespace

std::uint64_t pair_marks(std::vector<SpanMark> marks, Trace& trace) {
  if (marks.empty()) {
    return 0;
  }
  std::ranges::stable_sort(marks, {}, [](const SpanMark& mark) { return std::pair(mark.thread, mark.time); });
  std::vector<bool> wanted(trace.events.size(), true);
  std::vector<SpanMark> open;
  std::uint64_t unpaired = 0;
  const auto leave_open = [&] {
    for (const SpanMark& mark : open) {
      unpaired += mark.event != kNoNumber ? 1 : 0;
      if (mark.event != kNoNumber) {
        wanted[mark.event] = false;
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
    keep_events(wanted, trace);
  }
  return unpaired;
}

}  // namespace ridgeline::imports
