#include "ingest/found_steps.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "ingest/import_error.h"
#include "ingest/step_passes.h"
#include "ingest/step_ranges.h"

namespace ridgeline::ingest {

namespace {

/// By evidence of training; the reason where there is some, but not enough.
StepSearch search_training(const Trace& trace, const StepEvents& events) {
  const TrainingMarks marks = training_marks(trace, events);
  if (auto steps = steps_of_optimizers(trace, events, marks)) {
    return {std::move(steps)};
  }
  if (!marks.optimizers.empty()) {
    return {std::nullopt, marks.optimizers.size() == 1 ? "an optimizer steps in it once only"
                                                       : "its optimizers step too seldom to tell in which order"};
  }
  if (auto steps = steps_of_loaders(trace, events, marks)) {
    return {std::move(steps)};
  }
  if (auto steps = steps_of_backward(marks)) {
    return {std::move(steps)};
  }
  if (!marks.backward.empty()) {
    return {std::nullopt, marks.backward.size() == 1 ? "it has one backward pass only"
                                                     : "it has too few backward passes for a complete step"};
  }
  return {};
}

StepSearch search(const Trace& trace, const StepEvents& events) {
  const auto named = steps_of_named_ranges(trace, events);
  if (named && named->ranges.size() > 1) {
    return {named};
  }
  StepSearch found = search_training(trace, events);
  if (found.steps) {
    return found;
  }
  if (named) {
    return {named};
  }
  if (!found.why_none.empty()) {
    return found;
  }
  for (const auto& steps_of : {steps_of_other_ranges, steps_of_modules, steps_of_kernels}) {
    if (auto steps = steps_of(trace, events)) {
      return {std::move(steps)};
    }
  }
  return {std::nullopt, "nothing in it is there once per step for certain"};
}

StepSearch search_for(const Trace& trace, const StepEvents& events, const StepBoundary& boundary) {
  using By = StepBoundary::By;
  switch (boundary.by) {
    case By::kFound:
      return search(trace, events);
    case By::kNothing:
      return {std::nullopt, "--step-boundary none says so"};
    case By::kOptimizer:
      return {steps_of_optimizers(trace, events, training_marks(trace, events), true),
              "fewer than two ranges of an optimizer (Optimizer.step#…)"};
    case By::kDataLoader:
      return {steps_of_loaders(trace, events, training_marks(trace, events)),
              "fewer than two ranges of a data loader (enumerate(DataLoader)#…)"};
    case By::kBackward:
      return {steps_of_backward(training_marks(trace, events)),
              "too few backward passes, or no forward operation after them"};
    case By::kLine:
      return {
          steps_of_function(trace, events, boundary.name, boundary.line),
          fmt::format("no call of a function that begins at {}:{} (with_stack=True)", boundary.name, boundary.line)};
    case By::kRange:
      return {steps_of_ranges_called(trace, events, boundary.name),
              fmt::format("no {} “{}”", range_word(trace), boundary.name)};
  }
  return {};
}

}  // namespace

StepEvents step_events(const Trace& trace, const std::vector<std::uint32_t>& events) {
  std::vector<std::uint32_t> all = events;
  if (all.empty()) {
    all.resize(trace.events.size());
    std::iota(all.begin(), all.end(), 0U);
  }
  // What encloses before what is enclosed.
  std::ranges::stable_sort(
      all, {}, [&](std::uint32_t index) { return std::pair(trace.events[index].start, ~trace.events[index].end); });
  StepEvents result;
  for (const std::uint32_t index : all) {
    switch (trace.events[index].kind) {
      case EventKind::kAnnotation:
        result.ranges.push_back(index);
        break;
      case EventKind::kOp:
        result.operations.push_back(index);
        break;
      case EventKind::kPython:
        result.functions.push_back(index);
        break;
      case EventKind::kCall:
        result.calls.push_back(index);
        break;
      case EventKind::kKernel:
        result.kernels.push_back(index);
        break;
      default:
        break;
    }
  }
  return result;
}

StepSearch find_steps(const Trace& trace, const StepEvents& events, const StepBoundary& boundary) {
  StepSearch found = search_for(trace, events, boundary);
  if (!found.steps) {
    return found;
  }
  found.why_none.clear();
  const bool is_asked = boundary.by != StepBoundary::By::kFound;
  found.steps->how =
      is_asked ? fmt::format("As --step-boundary says, {}.", found.steps->how)
               : fmt::format(
                     "How steps were found: {}; what comes before the first and after the last is left out. Use "
                     "--step-boundary if that is not what you mean.",
                     found.steps->how);
  return found;
}

void check_steps(const Trace& trace, const StepSearch& search, const StepBoundary& boundary) {
  if (!search.steps && boundary.by > StepBoundary::By::kNothing) {
    throw ImportError(fmt::format("--step-boundary: the {} has {}.",
                                  trace.source == TraceSource::kNsightSystems ? "report" : "trace", search.why_none));
  }
}

void add_steps(Trace& trace, const FoundSteps& steps) {
  for (std::size_t i = steps.spans.size() % 2 == 0 ? 1 : 0; i < steps.spans.size(); ++i) {
    TraceEvent step;
    step.kind = EventKind::kStep;
    step.thread = steps.thread;
    std::tie(step.start, step.end) = steps.spans[i];
    trace.events.push_back(step);
  }
  trace.notes.push_back(steps.how);
}

}  // namespace ridgeline::ingest
