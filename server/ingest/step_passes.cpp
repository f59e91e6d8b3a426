#include "ingest/step_passes.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "ingest/autograd_node.h"
#include "ingest/step_marks.h"

namespace ridgeline::ingest {

namespace {

using Pass = TrainingMarks::Pass;
using Span = std::pair<std::uint64_t, std::uint64_t>;

/// Spans of one thread, by start and without overlaps.
class Covered {
 public:
  void add(std::uint64_t start, std::uint64_t end) {
    if (spans_.empty() || start > spans_.back().second) {
      spans_.emplace_back(start, end);
    } else {
      spans_.back().second = std::max(spans_.back().second, end);
    }
  }

  bool contains(std::uint64_t time) const {
    const auto after = std::ranges::upper_bound(spans_, time, {}, [](const auto& span) { return span.first; });
    return after != spans_.begin() && time < std::prev(after)->second;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans_;
};

using CoveredThreads = std::unordered_map<std::uint32_t, Covered>;

bool is_covered(const CoveredThreads& threads, const TraceEvent& event) {
  const auto found = threads.find(event.thread);
  return found != threads.end() && found->second.contains(event.start);
}

bool is_forward(const TraceEvent& event, std::string_view name) {
  return event.sequence >= 0 && event.number == 0 && !name.starts_with("autograd::") && !name.starts_with("Optimizer.");
}

void add_forward(const Trace& trace, const StepEvents& events, const CoveredThreads& nodes, TrainingMarks& marks) {
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> forward;
  for (const std::uint32_t index : events.operations) {
    const TraceEvent& event = trace.events[index];
    if (is_forward(event, trace.strings[event.name]) && !is_covered(nodes, event)) {
      forward[event.thread].push_back(event.start);
    }
  }
  const auto key = [](const auto& entry) { return std::pair(entry.second.size(), ~entry.first); };
  if (const auto most = std::ranges::max_element(forward, {}, key); most != forward.end()) {
    marks.forward_thread = most->first;
    marks.forward_operations = most->second;
  }
}

/// A pass ends where forward goes on.
std::vector<Pass> passes_of(const Trace& trace, const std::vector<std::uint32_t>& nodes,
                            const std::vector<std::uint64_t>& forward) {
  std::vector<Pass> passes;
  for (const std::uint32_t index : nodes) {
    const TraceEvent& node = trace.events[index];
    const auto next = passes.empty() ? forward.end() : std::ranges::lower_bound(forward, passes.back().end);
    if (passes.empty() || (next != forward.end() && *next <= node.start)) {
      passes.push_back({node.start, node.end, 0});
    }
    passes.back().end = std::max(passes.back().end, node.end);
    ++passes.back().nodes;
  }
  return passes;
}

/// When operations and calls of CUDA begin.
std::vector<std::uint64_t> work_times(const Trace& trace, const StepEvents& events) {
  std::vector<std::uint64_t> times;
  for (const auto* list : {&events.operations, &events.calls}) {
    for (const std::uint32_t index : *list) {
      times.push_back(trace.events[index].start);
    }
  }
  std::ranges::sort(times);
  return times;
}

std::size_t count_between(const std::vector<std::uint64_t>& times, std::uint64_t begin, std::uint64_t end) {
  return static_cast<std::size_t>(std::ranges::lower_bound(times, end) - std::ranges::lower_bound(times, begin));
}

/// Marks that follow each other without work in between, as one: of optimizers or loaders that one step uses together.
std::vector<std::vector<std::uint32_t>> together(const Trace& trace, const std::vector<std::uint32_t>& marks,
                                                 const std::vector<std::uint64_t>& work) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (const std::uint32_t mark : marks) {
    const bool follows = !groups.empty() && !work.empty() &&
                         count_between(work, trace.events[groups.back().back()].end, trace.events[mark].start) == 0;
    if (!follows) {
      groups.emplace_back();
    }
    groups.back().push_back(mark);
  }
  return groups;
}

/// When the loading of each batch begins, by all loaders that one step uses together.
std::vector<std::uint64_t> batch_times(const Trace& trace, const TrainingMarks& marks,
                                       const std::vector<std::uint64_t>& work) {
  std::vector<std::uint64_t> times;
  for (const std::vector<std::uint32_t>& group : together(trace, marks.loaders, work)) {
    times.push_back(trace.events[group.front()].start);
  }
  return times;
}

/// The mark within a period that ends a step: the one that occurs least often and is followed by the longest time.
std::size_t last_of_period(const std::vector<std::uint64_t>& kinds, std::size_t period,
                           const std::vector<std::pair<std::uint64_t, std::uint64_t>>& spans) {
  const auto key = [&](std::size_t place) {
    std::size_t often = 0;
    std::uint64_t gap = 0;
    for (std::size_t i = place; i < kinds.size(); i += period) {
      gap += i + 1 < spans.size() ? spans[i + 1].first - std::min(spans[i + 1].first, spans[i].second) : 0;
    }
    // The period as the marks have it after the first.
    for (std::size_t i = 1; i <= period && i < kinds.size(); ++i) {
      often += kinds[i] == kinds[place == 0 ? period : place] ? 1U : 0U;
    }
    return std::pair(often, ~gap);
  };
  std::size_t best = 0;
  for (std::size_t place = 1; place < period; ++place) {
    if (key(place) < key(best)) {
      best = place;
    }
  }
  return best;
}

/// After how many of the marks the data loader brings the next batch, if that is the same each time.
std::optional<std::size_t> period_by_loader(const std::vector<std::uint64_t>& batches, const std::vector<Span>& marks) {
  std::optional<std::size_t> period;
  for (std::size_t i = 0; i + 1 < batches.size(); ++i) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        marks, [&](const Span& mark) { return mark.first >= batches[i] && mark.first < batches[i + 1]; }));
    if (count == 0 || count != period.value_or(count)) {
      return std::nullopt;
    }
    period = count;
  }
  return period;
}

/// After how many of the marks the same backward passes come again.
std::optional<std::size_t> period_by_backward(const std::vector<Pass>& passes, const std::vector<Span>& marks) {
  std::vector<std::uint64_t> nodes;
  auto pass = passes.begin();
  for (const Span& mark : marks) {
    nodes.push_back(0);
    for (; pass != passes.end() && pass->start < mark.second; ++pass) {
      nodes.back() += pass->nodes;
    }
  }
  return std::ranges::find(nodes, 0U) == nodes.end() ? period_of(nodes) : std::nullopt;
}

std::string ordinal(std::size_t number) {
  return number == 1 ? "next" : fmt::format("{}{} after it", number, number == 2 ? "nd" : number == 3 ? "rd" : "th");
}

}  // namespace

TrainingMarks training_marks(const Trace& trace, const StepEvents& events) {
  TrainingMarks marks;
  std::vector<std::uint32_t> nodes;
  CoveredThreads covered;
  for (const std::uint32_t index : events.operations) {
    const TraceEvent& event = trace.events[index];
    if (is_autograd_node(event, trace.strings[event.name])) {
      nodes.push_back(index);
      covered[event.thread].add(event.start, event.end);
    }
  }
  add_forward(trace, events, covered, marks);
  marks.backward = passes_of(trace, nodes, marks.forward_operations);
  std::vector<std::uint32_t> candidates;
  std::ranges::merge(
      events.ranges, events.operations, std::back_inserter(candidates), {},
      [&](std::uint32_t index) { return trace.events[index].start; },
      [&](std::uint32_t index) { return trace.events[index].start; });
  std::erase_if(candidates, [&](std::uint32_t index) { return is_covered(covered, trace.events[index]); });
  const auto marks_of = [&](std::string_view prefix) {
    return outermost_marks(trace, candidates, [&](std::string_view name) { return name.starts_with(prefix); });
  };
  marks.optimizers = marks_of("Optimizer.step#");
  if (marks.optimizers.empty()) {
    marks.zero_grads = marks_of("Optimizer.zero_grad#");
  }
  marks.loaders = marks_of("enumerate(DataLoader)#");
  return marks;
}

std::optional<FoundSteps> steps_of_optimizers(const Trace& trace, const StepEvents& events, const TrainingMarks& marks,
                                              bool each) {
  const std::vector<std::uint64_t> work = work_times(trace, events);
  std::vector<std::uint64_t> kinds;
  std::set<std::uint64_t> names;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  const bool by_end = !marks.optimizers.empty();
  const std::vector<std::uint32_t>& ranges = by_end ? marks.optimizers : marks.zero_grads;
  const auto groups = each ? together(trace, ranges, {}) : together(trace, ranges, work);
  for (const std::vector<std::uint32_t>& group : groups) {
    const TraceEvent& first = trace.events[group.front()];
    spans.emplace_back(first.start, trace.events[group.back()].end);
    const std::uint64_t count = count_between(work, spans.back().first, spans.back().second);
    kinds.push_back((std::uint64_t{first.name} << 32U) | std::min<std::uint64_t>(count, 0xffffffffU));
    names.insert(first.name);
  }
  std::optional<std::size_t> found = each ? std::optional<std::size_t>(1) : period_of(kinds);
  // Optimizers prepare their states when they first step: of few steps, others of their marks must tell.
  if (!found) {
    found = period_by_loader(batch_times(trace, marks, work), spans);
  }
  if (!found) {
    found = period_by_backward(marks.backward, spans);
  }
  if (kinds.size() < 2 || (!found && names.size() > 1)) {
    return std::nullopt;
  }
  const std::size_t period = found.value_or(1);
  FoundSteps steps{.thread = trace.events[ranges.front()].thread};
  std::vector<std::uint64_t> times;
  for (std::size_t i = period == 1 ? 0 : last_of_period(kinds, period, spans); i < spans.size(); i += period) {
    times.push_back(by_end ? spans[i].second : spans[i].first);
  }
  steps.spans = spans_between(std::move(times));
  steps.how = fmt::format("an iteration goes from the {0} of one “{1}” to the {0} of the {2}", by_end ? "end" : "start",
                          trace.strings[trace.events[ranges.front()].name], ordinal(period));
  return steps.spans.empty() ? std::nullopt : std::optional(std::move(steps));
}

std::optional<FoundSteps> steps_of_loaders(const Trace& trace, const StepEvents& events, const TrainingMarks& marks) {
  FoundSteps steps;
  steps.spans = spans_between(batch_times(trace, marks, work_times(trace, events)));
  if (steps.spans.empty()) {
    return std::nullopt;
  }
  steps.thread = trace.events[marks.loaders.front()].thread;
  steps.how = fmt::format("an iteration goes from the start of one “{}” to the start of the next",
                          trace.strings[trace.events[marks.loaders.front()].name]);
  return steps;
}

std::optional<FoundSteps> steps_of_backward(const TrainingMarks& marks) {
  std::vector<std::uint64_t> kinds;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (const Pass& pass : marks.backward) {
    kinds.push_back(pass.nodes);
    spans.emplace_back(pass.start, pass.end);
  }
  const std::size_t period = period_of(kinds).value_or(1);
  std::vector<std::uint64_t> times;
  for (std::size_t i = period == 1 ? 0 : last_of_period(kinds, period, spans); i < spans.size(); i += period) {
    const auto next = std::ranges::lower_bound(marks.forward_operations, spans[i].second);
    if (next != marks.forward_operations.end()) {
      times.push_back(*next);
    }
  }
  FoundSteps steps{.thread = marks.forward_thread.value_or(0), .spans = spans_between(std::move(times))};
  if (steps.spans.empty()) {
    return std::nullopt;
  }
  steps.how = fmt::format(
      "an iteration goes from the first forward operation after a backward pass to that after the "
      "{}",
      ordinal(period));
  return steps;
}

}  // namespace ridgeline::ingest
