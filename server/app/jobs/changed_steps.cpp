#include "app/jobs/changed_steps.h"

#include <utility>

#include "app/jobs/described_cluster.h"
#include "app/jobs/job_files.h"
#include "jobs/optimize/changed_step.h"
#include "jobs/optimize/requested_changes.h"
#include "jobs/replay/recorded_job.h"
#include "protocol/recording.h"

namespace ridgeline::app {

namespace {

using jobs::Job;
using jobs::RankRecord;

base::Result<analysis::ChangedStep> changed(const jobs::RecordedJob& job, std::string name,
                                            const std::vector<std::string>& changes) {
  auto made = jobs::changed_job(job, changes);
  if (!made) {
    return made.error();
  }
  const auto unchanged = jobs::replay(made->unchanged);
  if (!unchanged) {
    return unchanged.error();
  }
  std::vector<jobs::Replay> replays;
  for (const jobs::RecordedJob& one : made->jobs) {
    auto replayed = jobs::replay(one);
    if (!replayed) {
      return replayed.error();
    }
    replays.push_back(std::move(*replayed));
  }
  analysis::ChangedStep step = jobs::changed_step(job, *unchanged, replays);
  step.change = std::move(name);
  step.notes = std::move(made->notes);
  return step;
}

}  // namespace

base::Result<jobs::RecordedJob> job_graph(const Job& job, const std::vector<RankRecord>& aligned,
                                          const std::vector<recording::Recording>& recordings,
                                          const std::string& network) {
  auto graph = jobs::recorded_job(app::records_of(job), aligned, recordings, job.scope);
  if (!graph || network.empty()) {
    return graph;
  }
  const auto measured = all_reduce_time(network, job.ranks.size());
  if (!measured) {
    return measured.error();
  }
  graph->measured_all_reduce = measured->time;
  graph->core_share = measured->core_share;
  return graph;
}

base::Result<std::vector<analysis::ChangedStep>> changed_steps(const jobs::RecordedJob& job,
                                                               const std::vector<std::string>& changes) {
  std::vector<analysis::ChangedStep> steps;
  for (const std::string& change : changes) {
    auto one = changed(job, change, {change});
    if (!one) {
      return one.error();
    }
    steps.push_back(std::move(*one));
  }
  if (changes.size() > 1) {
    auto all = changed(job, "all", changes);
    if (!all) {
      return all.error();
    }
    steps.push_back(std::move(*all));
  }
  return steps;
}

}  // namespace ridgeline::app
