#include "jobs/optimize/own_change.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "step/changes/apply_change.h"

namespace ridgeline::jobs {

namespace {

/// The times of the collectives, as the durations of their tasks.
std::vector<std::int64_t> show_costs(EqualRanks& rank) {
  std::vector<std::int64_t> shown;
  for (const Call& call : rank.calls) {
    const double ns = call.recorded.has_value() ? call.recorded->cost_ns : 0;
    shown.push_back(std::max<std::int64_t>(1, std::llround(ns)));
    rank.graph.tasks[call.task].duration_ns = shown.back();
  }
  return shown;
}

void take_costs(EqualRanks& rank, const std::vector<std::int64_t>& shown) {
  for (std::size_t i = 0; i < rank.calls.size(); ++i) {
    const std::int64_t ns = std::exchange(rank.graph.tasks[rank.calls[i].task].duration_ns, 0);
    if (!rank.calls[i].recorded.has_value() || ns == shown[i]) {
      continue;
    }
    const double by = static_cast<double>(ns) / static_cast<double>(shown[i]);
    rank.calls[i].recorded->cost_ns *= by;
    rank.calls[i].recorded->alone_ns *= by;
  }
}

std::optional<base::Error> change(EqualRanks& rank, const step::UserChange& own, step::Bound bound) {
  std::vector<std::uint16_t> resources;
  for (const step::Task& task : rank.graph.tasks) {
    resources.push_back(task.resource);
  }
  const auto shown = show_costs(rank);
  auto changed = step::apply(own, {std::move(rank.graph)}, bound);
  if (!changed) {
    return changed.error();
  }
  rank.graph = std::move(changed->graph);
  for (std::size_t task = 0; task < resources.size(); ++task) {
    if (rank.graph.tasks[task].resource != resources[task]) {
      return base::error("it moves tasks, and those of a recorded job stay where they ran");
    }
  }
  take_costs(rank, shown);
  return std::nullopt;
}

}  // namespace

base::Result<RecordedJob> with_own_change(RecordedJob job, const std::vector<step::UserChange>& by_rank,
                                          step::Bound bound) {
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    if (const auto wrong = change(job.ranks[i], by_rank[i], bound)) {
      return base::error(by_rank[i].title + ": rank " + std::to_string(job.ranks[i].ranks.front()) + ": " +
                         wrong->message());
    }
  }
  return job;
}

}  // namespace ridgeline::jobs
