#include "imports/nsys_steps.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "imports/nsys_text.h"

namespace ridgeline::imports {

namespace {

/// What is less often there may repeat by chance.
constexpr std::size_t kLeastRepeats = 3;
/// Of the distances of a kernel from itself, in kernels: so many are equal when it is there once per step.
constexpr double kRegularShare = 0.8;
/// And its steps together are so much of all kernels.
constexpr double kCoveredShare = 0.5;

enum class Rank : std::uint8_t { kCountsSteps, kNamedStep, kCounts, kOptimizer, kRepeats, kNone };

/// Ranges of one thread with the same text but for its numbers.
struct Family {
  std::vector<std::uint32_t> ranges;
  std::uint64_t ns = 0;
  bool counts = true;  ///< each ends with a counter
};

bool is_optimizer_step(std::string_view family) { return family.starts_with("Optimizer.step#"); }

Rank rank_of(std::string_view name, const Family& family) {
  const bool repeats = family.ranges.size() >= kLeastRepeats;
  if (is_optimizer_step(name)) {
    return repeats ? Rank::kOptimizer : Rank::kNone;
  }
  if (names_a_step(name)) {
    return family.counts ? Rank::kCountsSteps : Rank::kNamedStep;
  }
  if (!repeats || names_an_epoch(name)) {
    return Rank::kNone;
  }
  return family.counts ? Rank::kCounts : Rank::kRepeats;
}

/// From each time to the next.
std::vector<std::pair<std::uint64_t, std::uint64_t>> between(const std::vector<std::uint64_t>& times) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    if (times[i + 1] > times[i]) {
      spans.emplace_back(times[i], times[i + 1]);
    }
  }
  return spans;
}

/// How often, in kernels, a kernel follows itself.
struct Rhythm {
  std::size_t period = 0;  ///< 0: irregular
  std::size_t times = 0;
};

Rhythm rhythm_of(const std::vector<std::uint32_t>& places, std::size_t all) {
  std::unordered_map<std::uint32_t, std::size_t> distances;
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    ++distances[places[i + 1] - places[i]];
  }
  const auto most = std::ranges::max_element(distances, {}, [](const auto& entry) { return entry.second; });
  const auto gaps = static_cast<double>(places.size() - 1);
  const bool regular = static_cast<double>(most->second) >= kRegularShare * gaps;
  const bool covers = static_cast<double>(most->first) * gaps >= kCoveredShare * static_cast<double>(all);
  return {regular && covers ? most->first : 0, places.size()};
}

/// By thread and range_family().
using Families = std::map<std::pair<std::uint32_t, std::string>, Family>;

Families families_of(const Trace& trace, const std::vector<std::uint32_t>& candidates) {
  Families families;
  std::unordered_map<std::uint32_t, std::string> names;  // by string
  for (const std::uint32_t index : candidates) {
    const TraceEvent& event = trace.events[index];
    const std::string& text = trace.strings[event.name];
    const auto [name, inserted] = names.try_emplace(event.name);
    if (inserted) {
      name->second = range_family(text);
    }
    Family& family = families[{event.thread, name->second}];
    family.ranges.push_back(index);
    family.ns += event.end - event.start;
    family.counts = family.counts && has_counter(text);
  }
  return families;
}

}  // namespace

std::optional<NsysSteps> steps_of_ranges(const Trace& trace, const std::vector<std::uint32_t>& candidates) {
  const Families families = families_of(trace, candidates);
  const Families::value_type* best = nullptr;
  Rank rank = Rank::kNone;
  for (const auto& entry : families) {
    const Rank own = rank_of(entry.first.second, entry.second);
    if (own < rank || (own == rank && own != Rank::kNone && entry.second.ns > best->second.ns)) {
      best = &entry;
      rank = own;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  NsysSteps steps;
  steps.thread = best->first.first;
  const std::vector<std::uint32_t>& ranges = best->second.ranges;
  if (rank <= Rank::kNamedStep) {
    steps.ranges = ranges;
  }
  const bool by_end = rank == Rank::kOptimizer;
  std::vector<std::uint64_t> times;
  for (const std::uint32_t range : ranges) {
    times.push_back(by_end ? trace.events[range].end : trace.events[range].start);
  }
  std::ranges::sort(times);
  steps.spans = between(times);
  const std::string& name = best->first.second;
  if (steps.spans.empty()) {
    const TraceEvent& only = trace.events[ranges.front()];
    if (only.end <= only.start) {
      return std::nullopt;
    }
    steps.spans.emplace_back(only.start, only.end);
    steps.how = fmt::format("The iteration is the only NVTX range “{}”.", name);
  } else {
    steps.how = fmt::format("An iteration goes from the {0} of one NVTX range “{1}” to the {0} of the next.",
                            by_end ? "end" : "start", name);
  }
  return steps;
}

std::optional<NsysSteps> steps_of_kernels(const Trace& trace, const std::vector<std::uint32_t>& kernels,
                                          const std::vector<std::uint32_t>& calls) {
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> places;  // by name
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    places[trace.events[kernels[i]].name].push_back(i);
  }
  const std::vector<std::uint32_t>* best = nullptr;
  Rhythm rhythm;
  for (const auto& [name, own] : places) {
    if (own.size() <= kLeastRepeats) {
      continue;
    }
    const Rhythm found = rhythm_of(own, kernels.size());
    // Among those that are there once per step: the one that is there in most of them, and then the first.
    const auto key = [](const Rhythm& one, const std::vector<std::uint32_t>* at) {
      return std::tuple(one.period, one.times, at == nullptr ? 0 : ~at->front());
    };
    if (found.period > 1 && (best == nullptr || key(found, &own) > key(rhythm, best))) {
      best = &own;
      rhythm = found;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> by_correlation;
  for (const std::uint32_t call : calls) {
    if (trace.events[call].correlation != kNoNumber) {
      by_correlation.try_emplace(trace.events[call].correlation, call);
    }
  }
  NsysSteps steps;
  std::vector<std::uint64_t> times;
  for (const std::uint32_t place : *best) {
    const auto call = by_correlation.find(trace.events[kernels[place]].correlation);
    if (call != by_correlation.end()) {
      steps.thread = trace.events[call->second].thread;
      times.push_back(trace.events[call->second].start);
    }
  }
  std::ranges::sort(times);
  steps.spans = between(times);
  if (steps.spans.size() < kLeastRepeats) {
    return std::nullopt;
  }
  steps.how = fmt::format(
      "The report has no NVTX ranges that repeat. The kernel “{}” follows itself after {} others again and again: an "
      "iteration goes from one of its launches to the next. Ranges (torch.cuda.nvtx.range_push(f\"step {{i}}\")) are "
      "more certain.",
      std::string_view(trace.strings[trace.events[kernels[best->front()]].name]).substr(0, 80), rhythm.period - 1);
  return steps;
}

}  // namespace ridgeline::imports
