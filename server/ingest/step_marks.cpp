#include "ingest/step_marks.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"

namespace ridgeline::ingest {

namespace {

constexpr std::size_t kLongestPeriod = 16;  ///< in marks
constexpr double kRegular = 0.9;            ///< of the marks, that are as those a period later
constexpr double kMost = 0.8;               ///< of the steps

/// When each kernel was launched, else when it ran: by StepEvents::kernels.
std::vector<std::uint64_t> launch_times(const Trace& trace, const StepEvents& events) {
  const auto calls = calls_by_correlation(trace, events);
  std::vector<std::uint64_t> times;
  for (const std::uint32_t kernel : events.kernels) {
    const auto call = calls.find(trace.events[kernel].correlation);
    times.push_back(trace.events[call == calls.end() ? kernel : call->second].start);
  }
  return times;
}

/// Operations or kernels, by name, before the steps or after them, which run in none of them.
bool nothing_else_runs(const Trace& trace, const StepEvents& events, const FoundSteps& steps) {
  const std::vector<std::uint32_t>& work = events.kernels.empty() ? events.operations : events.kernels;
  std::vector<std::uint64_t> times = launch_times(trace, events);
  if (events.kernels.empty()) {
    for (const std::uint32_t operation : work) {
      times.push_back(trace.events[operation].start);
    }
  }
  const auto is_inside = [&](std::size_t i) {
    return times[i] >= steps.spans.front().first && times[i] < steps.spans.back().second;
  };
  std::unordered_set<std::uint32_t> inside;
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (is_inside(i)) {
      inside.insert(trace.events[work[i]].name);
    }
  }
  return std::ranges::all_of(work, [&](std::uint32_t event) { return inside.contains(trace.events[event].name); });
}

/// Whether most of the steps have a copy between host and device, or a call that waits.
bool most_exchange(const Trace& trace, const StepEvents& events, const FoundSteps& steps) {
  std::vector<bool> exchanges(steps.spans.size());
  for (const std::uint32_t call : events.calls) {
    const TraceEvent& event = trace.events[call];
    const std::string_view name = trace.strings[event.name];
    const auto after =
        std::ranges::upper_bound(steps.spans, event.start, {}, [](const auto& span) { return span.first; });
    const auto step = static_cast<std::size_t>(after - steps.spans.begin());
    if (step > 0 && event.start < steps.spans[step - 1].second &&
        (base::contains(name, "Memcpy") || base::contains(name, "Synchronize"))) {
      exchanges[step - 1] = true;
    }
  }
  return static_cast<double>(std::ranges::count(exchanges, true)) >= kMost * static_cast<double>(exchanges.size());
}

}  // namespace

std::vector<std::pair<std::uint64_t, std::uint64_t>> spans_between(std::vector<std::uint64_t> times) {
  std::ranges::sort(times);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    if (times[i + 1] > times[i]) {
      spans.emplace_back(times[i], times[i + 1]);
    }
  }
  return spans;
}

std::vector<std::uint32_t> outermost_marks(const Trace& trace, const std::vector<std::uint32_t>& candidates,
                                           base::FunctionRef<bool(std::string_view)> is_mark) {
  std::unordered_map<std::uint32_t, bool> names;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> by_thread;
  for (const std::uint32_t index : candidates) {
    const TraceEvent& event = trace.events[index];
    const auto [name, inserted] = names.try_emplace(event.name);
    if (inserted) {
      name->second = is_mark(trace.strings[event.name]);
    }
    std::vector<std::uint32_t>* const marks = name->second ? &by_thread[event.thread] : nullptr;
    if (marks != nullptr && (marks->empty() || event.start >= trace.events[marks->back()].end)) {
      marks->push_back(index);
    }
  }
  const auto key = [](const auto& entry) { return std::pair(entry.second.size(), ~entry.first); };
  const auto most = std::ranges::max_element(by_thread, {}, key);
  return most == by_thread.end() ? std::vector<std::uint32_t>() : most->second;
}

std::optional<std::size_t> period_of(const std::vector<std::uint64_t>& marks) {
  for (std::size_t period = 1; period <= kLongestPeriod && period + 1 < marks.size(); ++period) {
    std::size_t same = 0;
    const std::size_t pairs = marks.size() - period - 1;
    for (std::size_t i = 1; i + period < marks.size(); ++i) {
      same += marks[i] == marks[i + period] ? 1U : 0U;
    }
    if (static_cast<double>(same) >= kRegular * static_cast<double>(pairs)) {
      return period;
    }
  }
  return std::nullopt;
}

std::unordered_map<std::uint64_t, std::uint32_t> calls_by_correlation(const Trace& trace, const StepEvents& events) {
  std::unordered_map<std::uint64_t, std::uint32_t> calls;
  for (const std::uint32_t call : events.calls) {
    if (trace.events[call].correlation != kNoId) {
      calls.try_emplace(trace.events[call].correlation, call);
    }
  }
  return calls;
}

bool are_whole(const Trace& trace, const StepEvents& events, const FoundSteps& steps) {
  return nothing_else_runs(trace, events, steps) || most_exchange(trace, events, steps);
}

}  // namespace ridgeline::ingest
