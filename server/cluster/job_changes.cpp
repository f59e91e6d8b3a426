#include "cluster/job_changes.h"

#include <string>
#include <utility>

#include "graph/changes.h"

namespace ridgeline::cluster {

namespace {

bool takes_time(const graph::Graph& graph, const graph::Selection& tasks) {
  for (const graph::TaskId id : tasks) {
    if (graph.tasks[id].duration_ns > 0) return true;
  }
  return false;
}

}  // namespace

base::Result<RecordedJob> with_faster_line(RecordedJob job, const analysis::Location& line, double times) {
  bool is_anywhere = false;
  for (EqualRanks& rank : job.ranks) {
    const graph::Selection tasks = graph::select_line(rank.graph, line);
    is_anywhere = is_anywhere || takes_time(rank.graph, tasks);
    rank.graph = graph::scaled(std::move(rank.graph), tasks, 1 / times);
  }
  if (!is_anywhere) return base::error("no rank spends time at " + line.file + ":" + std::to_string(line.line));
  return job;
}

base::Result<RecordedJob> with_faster_rank(RecordedJob job, int rank, double times) {
  for (EqualRanks& one : job.ranks) {
    if (one.ranks.front() != rank) continue;
    const graph::Selection all = graph::select(one.graph, [](const graph::Task&) { return true; });
    one.graph = graph::scaled(std::move(one.graph), all, 1 / times);
    return job;
  }
  return base::error("no rank " + std::to_string(rank) + " was recorded");
}

base::Result<RecordedJob> with_faster_communication(RecordedJob job, double times) {
  bool is_any = false;
  for (EqualRanks& rank : job.ranks) {
    for (Call& call : rank.calls) {
      if (!call.recorded.has_value()) continue;
      call.recorded->cost_ns /= times;
      is_any = true;
    }
  }
  if (!is_any) return base::error("its ranks did not communicate");
  return job;
}

}  // namespace ridgeline::cluster
