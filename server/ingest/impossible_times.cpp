#include "ingest/impossible_times.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ridgeline::ingest {

namespace {

/// Later activities of a stream that ran to their ends within an earlier one: more than clocks can be wrong by.
constexpr std::size_t kLeastInside = 3;
constexpr std::size_t kMostLookedAt = 64;
/// How far from the middle half of the events others count: this many times its length, and at least an hour.
constexpr double kReach = 100;
constexpr double kLeastReachNs = 3600e9;

using EventMarks = std::vector<bool>;  ///< by event

void mark_on_streams(const Trace& trace, EventMarks& impossible) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> streams;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    if (is_on_device(event.kind)) {
      streams[{event.device, event.stream}].push_back(i);
    }
  }
  for (auto& [name, stream] : streams) {
    std::ranges::stable_sort(stream, {}, [&](std::uint32_t i) { return trace.events[i].start; });
    for (std::size_t at = 0; at < stream.size(); ++at) {
      const TraceEvent& event = trace.events[stream[at]];
      std::size_t inside = 0;
      const std::size_t end = std::min(stream.size(), at + 1 + kMostLookedAt);
      for (std::size_t next = at + 1; next < end && trace.events[stream[next]].start < event.end; ++next) {
        // The activities of a graph have its launch in common, and may run side by side.
        const TraceEvent& later = trace.events[stream[next]];
        inside +=
            later.end < event.end && later.start > event.start && later.correlation != event.correlation ? 1U : 0U;
      }
      impossible[stream[at]] = inside >= kLeastInside;
    }
  }
}

void mark_far_away(const Trace& trace, EventMarks& impossible) {
  std::vector<std::uint64_t> starts;
  for (const TraceEvent& event : trace.events) {
    starts.push_back(event.start);
  }
  const auto quartile = [&](std::size_t part) {
    const auto at = starts.begin() + static_cast<std::ptrdiff_t>(part * (starts.size() - 1) / 4);
    std::ranges::nth_element(starts, at);
    return static_cast<double>(*at);
  };
  const double low = quartile(1);
  const double high = quartile(3);
  const double reach = std::max(kLeastReachNs, kReach * (high - low));
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    impossible[i] = impossible[i] || static_cast<double>(event.start) < low - reach ||
                    static_cast<double>(event.end) > high + reach;
  }
}

std::string duration_text(std::uint64_t ns) {
  static constexpr std::array<std::pair<double, const char*>, 5> kUnits = {
      {{86400e9, "days"}, {3600e9, "h"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}}};
  const auto value = static_cast<double>(ns);
  for (const auto& [unit, name] : kUnits) {
    if (value >= 2 * unit || unit == kUnits.back().first) {
      return fmt::format("{:.3g} {}", value / unit, name);
    }
  }
  return {};
}

}  // namespace

void leave_out_impossible_times(Trace& trace) {
  if (trace.events.empty()) {
    return;
  }
  EventMarks impossible(trace.events.size());
  mark_on_streams(trace, impossible);
  mark_far_away(trace, impossible);
  const auto count = static_cast<std::size_t>(std::ranges::count(impossible, true));
  if (count == 0) {
    return;
  }
  const TraceEvent* longest = nullptr;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    if (impossible[i] && (longest == nullptr || event.end - event.start > longest->end - longest->start)) {
      longest = &event;
    }
  }
  trace.notes.push_back(fmt::format(
      "{} event{} left out, whose times cannot be true: {}“{}” lasts {} by the record, while others of its stream ran, "
      "or lies far outside of the recording.",
      count, count == 1 ? " is" : "s are", count == 1 ? "" : "the longest, ",
      std::string_view(trace.strings[longest->name]).substr(0, 80), duration_text(longest->end - longest->start)));
  erase_events(trace, impossible);
}

}  // namespace ridgeline::ingest
