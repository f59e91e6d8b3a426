#include "ingest/step_ranges.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "ingest/nsys_text.h"
#include "ingest/step_marks.h"
#include "ingest/trace_files.h"

namespace ridgeline::ingest {

namespace {

/// With fewer occurrences than this, a repetition may be coincidence.
constexpr std::size_t kLeastRepeats = 3;
/// A kernel runs once per step if at least this share of the distances between its occurrences, counted in kernels, are
/// equal...
constexpr double kRegularShare = 0.8;
/// ...and if its steps together cover at least this share of all kernels.
constexpr double kCoveredShare = 0.5;
constexpr std::size_t kMostOfAName = 80;
constexpr std::string_view kModule = "nn.Module: ";

/// How likely a family of ranges is to mark steps, best first.
enum class StepLikelihood : std::uint8_t { kCountsSteps, kNamedStep, kCounts, kRepeats, kNoStep };

/// Ranges of one thread with the same text but for its numbers.
struct Family {
  std::vector<std::uint32_t> ranges;
  std::unordered_set<std::uint32_t> texts;
  std::uint64_t ns = 0;
  bool counts = true;  ///< each ends with a counter
};

/// Whether torch, or a library that it uses, opens ranges with this name.
bool is_of_torch(std::string_view name) {
  static constexpr std::array<std::string_view, 16> kPrefixes = {"Optimizer.",
                                                                 "enumerate(DataLoader)",
                                                                 "DistributedDataParallel.",
                                                                 "FullyShardedDataParallel.",
                                                                 "FSDP::",
                                                                 "DataParallel.",
                                                                 "PyTorch Profiler",
                                                                 "Torch-Compiled Region",
                                                                 "## Call Co",
                                                                 "TorchDynamo",
                                                                 "CompiledFunction",
                                                                 "torch.distributed.",
                                                                 "nccl:",
                                                                 "gloo:",
                                                                 "c10d",
                                                                 "record_param_comms"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

StepLikelihood likelihood_of(std::string_view name, const Family& family) {
  if (is_of_torch(name)) {
    return StepLikelihood::kNoStep;
  }
  if (names_a_step(name)) {
    return family.counts ? StepLikelihood::kCountsSteps : StepLikelihood::kNamedStep;
  }
  if (family.ranges.size() < kLeastRepeats || names_an_epoch(name)) {
    return StepLikelihood::kNoStep;
  }
  // Numbers that come again are those of layers, not of steps.
  return family.counts && family.texts.size() == family.ranges.size() ? StepLikelihood::kCounts
                                                                      : StepLikelihood::kRepeats;
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
    family.texts.insert(event.name);
    family.ns += event.end - event.start;
    family.counts = family.counts && has_counter(text);
  }
  return families;
}

/// The family with the best likelihood between `first` and `last`; among equals, the one with the longest total time.
const Families::value_type* best_of(const Families& families, StepLikelihood first, StepLikelihood last) {
  const Families::value_type* best = nullptr;
  StepLikelihood likelihood = StepLikelihood::kNoStep;
  for (const auto& entry : families) {
    const StepLikelihood own = likelihood_of(entry.first.second, entry.second);
    if (own >= first && own <= last &&
        (best == nullptr || own < likelihood || (own == likelihood && entry.second.ns > best->second.ns))) {
      best = &entry;
      likelihood = own;
    }
  }
  return best;
}

std::vector<std::uint64_t> starts_of(const Trace& trace, const std::vector<std::uint32_t>& events) {
  std::vector<std::uint64_t> times;
  for (const std::uint32_t event : events) {
    times.push_back(trace.events[event].start);
  }
  return times;
}

std::optional<FoundSteps> steps_from(const Trace& trace, const std::vector<std::uint32_t>& marks,
                                     std::string_view what) {
  if (marks.empty()) {
    return std::nullopt;
  }
  FoundSteps steps{.thread = trace.events[marks.front()].thread, .spans = spans_between(starts_of(trace, marks))};
  steps.how = fmt::format("an iteration goes from the start of one {0} to the start of the next", what);
  if (steps.spans.empty()) {
    const TraceEvent& only = trace.events[marks.front()];
    if (only.end <= only.start) {
      return std::nullopt;
    }
    steps.spans.emplace_back(only.start, only.end);
    steps.how = fmt::format("the iteration is the only {}", what);
  }
  return steps;
}

std::string quoted(const Trace& trace, std::string_view name) {
  return fmt::format("{} “{}”", range_word(trace), name.substr(0, kMostOfAName));
}

/// Steps delimited by the ranges of the family with the best likelihood between `first` and `last`; returns those
/// ranges too.
std::optional<FoundSteps> steps_of_families(const Trace& trace, const StepEvents& events, StepLikelihood first,
                                            StepLikelihood last) {
  const Families families = families_of(trace, events.ranges);
  const auto* const best = best_of(families, first, last);
  if (best == nullptr) {
    return std::nullopt;
  }
  auto steps = steps_from(trace, best->second.ranges, quoted(trace, best->first.second));
  if (steps) {
    steps->ranges = best->second.ranges;
  }
  return steps;
}

/// The number of kernels from one occurrence of a kernel to its next.
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

/// The indices in `work` at which the name that occurs once per step appears, and its period.
std::pair<std::vector<std::uint32_t>, std::size_t> once_per_step(const Trace& trace,
                                                                 const std::vector<std::uint32_t>& work) {
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> places;  // by name
  for (std::uint32_t i = 0; i < work.size(); ++i) {
    places[trace.events[work[i]].name].push_back(i);
  }
  std::vector<std::uint32_t> best;
  Rhythm rhythm;
  for (const auto& [name, own] : places) {
    if (own.size() <= kLeastRepeats) {
      continue;
    }
    const Rhythm found = rhythm_of(own, work.size());
    // The longest period is that of a whole step. Among names with that period: the one that occurs most often, then
    // the one that occurs first.
    const auto key = [](const Rhythm& one, const std::vector<std::uint32_t>& at) {
      return std::tuple(one.period, one.times, at.empty() ? 0 : ~at.front());
    };
    if (found.period > 1 && (best.empty() || key(found, own) > key(rhythm, best))) {
      best = own;
      rhythm = found;
    }
  }
  return {std::move(best), rhythm.period};
}

/// The outermost operations, other than torch's own ranges, of the thread that has most of them.
std::vector<std::uint32_t> outermost_operations(const Trace& trace, const StepEvents& events) {
  return outermost_marks(trace, events.operations, [](std::string_view name) { return !is_of_torch(name); });
}

}  // namespace

const char* range_word(const Trace& trace) {
  return trace.source == TraceSource::kNsightSystems ? "NVTX range" : "range";
}

std::optional<FoundSteps> steps_of_named_ranges(const Trace& trace, const StepEvents& events) {
  return steps_of_families(trace, events, StepLikelihood::kCountsSteps, StepLikelihood::kNamedStep);
}

std::optional<FoundSteps> steps_of_other_ranges(const Trace& trace, const StepEvents& events) {
  auto steps = steps_of_families(trace, events, StepLikelihood::kCounts, StepLikelihood::kRepeats);
  if (!steps || steps->spans.size() + 1 < kLeastRepeats || !are_whole(trace, events, *steps)) {
    return std::nullopt;
  }
  // These ranges are also parts of the step and must still be shown, so they are not mere step marks.
  steps->ranges.clear();
  return steps;
}

std::optional<FoundSteps> steps_of_ranges_called(const Trace& trace, const StepEvents& events,
                                                 const std::string& name) {
  const auto is_called = [&](std::string_view text) { return text == name || without_counter(text) == name; };
  return steps_from(trace, outermost_marks(trace, events.ranges, is_called), quoted(trace, name));
}

std::optional<FoundSteps> steps_of_modules(const Trace& trace, const StepEvents& events) {
  const auto calls =
      outermost_marks(trace, events.functions, [](std::string_view name) { return name.starts_with(kModule); });
  std::map<std::uint32_t, std::pair<std::vector<std::uint32_t>, std::uint64_t>> modules;
  for (const std::uint32_t call : calls) {
    auto& [own, ns] = modules[trace.events[call].name];
    own.push_back(call);
    ns += trace.events[call].end - trace.events[call].start;
  }
  const auto time = [](const auto& entry) { return entry.second.second; };
  const auto longest = std::ranges::max_element(modules, {}, time);
  if (longest == modules.end() || longest->second.first.size() < kLeastRepeats) {
    return std::nullopt;
  }
  const std::string_view name = trace.strings[longest->first];
  return steps_from(trace, longest->second.first,
                    fmt::format("call of the module “{}”", name.substr(name.find(' ') + 1, kMostOfAName)));
}

std::optional<FoundSteps> steps_of_function(const Trace& trace, const StepEvents& events, const std::string& file,
                                            std::uint32_t line) {
  const auto calls = outermost_marks(trace, events.functions, [&](std::string_view name) {
    std::string_view own_file;
    std::string_view function;
    std::uint32_t own_line = 0;
    const bool is_call = split_frame(name, own_file, own_line, function) && own_line == line;
    return is_call &&
           (own_file == file || own_file.ends_with("/" + file) || file.ends_with("/" + std::string(own_file)));
  });
  return steps_from(trace, calls, fmt::format("call of {}:{}", file, line));
}

std::optional<FoundSteps> steps_of_kernels(const Trace& trace, const StepEvents& events) {
  const bool on_device = !events.kernels.empty();
  const std::vector<std::uint32_t> work = on_device ? events.kernels : outermost_operations(trace, events);
  const auto [places, period] = once_per_step(trace, work);
  // If module calls were recorded and none of them marked steps, a kernel that repeats is only a part of one of those
  // calls.
  const bool has_modules = std::ranges::any_of(events.functions, [&](std::uint32_t function) {
    return trace.strings[trace.events[function].name].starts_with(kModule);
  });
  if (places.empty() || has_modules) {
    return std::nullopt;
  }
  const auto calls = calls_by_correlation(trace, events);
  FoundSteps steps;
  std::vector<std::uint64_t> times;
  for (const std::uint32_t place : places) {
    const TraceEvent& event = trace.events[work[place]];
    const auto call = calls.find(event.correlation);
    if (!on_device || call != calls.end()) {
      const TraceEvent& mark = on_device ? trace.events[call->second] : event;
      steps.thread = mark.thread;
      times.push_back(mark.start);
    }
  }
  steps.spans = spans_between(std::move(times));
  if (steps.spans.size() < kLeastRepeats || !are_whole(trace, events, steps)) {
    return std::nullopt;
  }
  steps.how =
      fmt::format("the {} “{}” recurs every time after {} others: an iteration goes from one of its {} to the next",
                  on_device ? "kernel" : "operation",
                  std::string_view(trace.strings[trace.events[work[places.front()]].name]).substr(0, kMostOfAName),
                  period - 1, on_device ? "launches" : "calls");
  return steps;
}

}  // namespace ridgeline::ingest
