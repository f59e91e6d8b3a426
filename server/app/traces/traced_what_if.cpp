#include "app/traces/traced_what_if.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/build_profile.h"
#include "analysis/values/idle_cause.h"
#include "step/changes/change_table.h"
#include "step/graph/from_recording.h"

namespace ridgeline::app {

namespace {

/// Steps of which none is longer than another one by more are alike.
constexpr double kAlike = 0.05;
constexpr std::size_t kMostOthers = 12;
/// Tasks that are simulated for them together: some seconds.
constexpr std::size_t kMostSimulated = 4'000'000;

/// Steps of the recording from the shortest to the longest, where they differ, as many as can be simulated soon.
std::vector<step::Graph> differing_steps(const analysis::RunInput& input, std::size_t tasks_of_step,
                                         std::size_t changes) {
  const recording::Recording& recording = input.runs.front().recording;
  std::vector<std::size_t> order(recording.iteration_start().size());
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](std::size_t i) { return recording.iteration_end()[i] - recording.iteration_start()[i]; };
  std::ranges::stable_sort(order, {}, length);
  if (order.size() < 2 ||
      static_cast<double>(length(order.back())) <= (1 + kAlike) * static_cast<double>(length(order.front()))) {
    return {};
  }
  constexpr std::size_t kSimulations = 3;  // of an iteration, one after the other
  const std::size_t cost = kSimulations * std::max<std::size_t>(1, tasks_of_step) * (changes + 1);
  const std::size_t count = std::min({order.size(), kMostOthers, kMostSimulated / cost});
  std::vector<step::Graph> steps;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (order.size() - 1) / (count - 1);
    steps.push_back(step::graph_of_iteration(recording, input.scope, order[at]));
  }
  return steps;
}

/// Also of the steps that the profile is not about; none where they are all alike. Reads the trace again where they are
/// not in `input`.
std::vector<step::Graph> other_steps(const analysis::RunInput& input, TraceOptions trace, std::size_t tasks_of_step,
                                     std::size_t changes) {
  const analysis::BatchRun& run = input.runs.front();
  if (run.times_ns.size() == run.recording.iteration_start().size()) {
    return differing_steps(input, tasks_of_step, changes);
  }
  trace.all_steps = true;
  const auto all = import_trace(trace);
  return all ? differing_steps(*all, tasks_of_step, changes) : std::vector<step::Graph>();
}

}  // namespace

Answer<TracedBase> what_if_of_trace(const TraceOptions& trace, std::size_t changes) {
  const auto input = import_trace(trace);
  if (!input) {
    return input.error();
  }
  const analysis::Profile profile = analysis::build_profile(*input);
  TracedBase traced{
      what_if_base(profile, input->runs.front().recording, input->scope), {}, analysis::has_all_kernels(profile)};
  traced.base.noise = 0;  // the intervals are of what changes bring, not of what another recording would have
  traced.base.other_steps = other_steps(*input, trace, traced.base.graph.tasks.size(), changes);
  traced.answer = traced.base.answer;
  traced.answer.from_trace = true;
  traced.answer.warnings = profile.warnings;
  if (!profile.batch_size_known) {
    traced.answer.batch_size = 0;
  }
  if (!traced.base.peak_known) {
    traced.answer.peak_bytes = 0;
  }
  return traced;
}

analysis::WhatIf answer_from_trace(const TracedBase& traced, const std::vector<protocol::ChangeRequest>& requests,
                                   const step::UserChanges& user) {
  analysis::WhatIf answer = traced.answer;
  std::vector<protocol::ChangeRequest> possible;
  for (const protocol::ChangeRequest& request : requests) {
    const bool is_possible = step::is_possible_on_graph(request, user);
    if (is_possible && traced.has_all_kernels) {
      possible.push_back(request);
      continue;
    }
    answer.changes.push_back({.change = request,
                              .title = step::title_of(request),
                              .takes = step::takes_of(request),
                              .reason = is_possible
                                            ? "launches have no kernel record: the time of their kernels is missing"
                                            : "operations of the changed step are needed: only an entry point has "
                                              "them"});
  }
  for (analysis::ChangeAnswer& row : answers_on_graph(traced.base, possible, user)) {
    answer.changes.push_back(std::move(row));
  }
  sort_by_gain(answer);
  return answer;
}

}  // namespace ridgeline::app
