#include "app/jobs/job_replay.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/attribution/compiled_lines.h"
#include "jobs/optimize/changed_step.h"
#include "jobs/record/kinds.h"
#include "jobs/replay/job_analysis.h"
#include "report/rendered_job.h"

namespace ridgeline::app {

namespace {

/// Describes one part of the path, without its time.
analysis::PathPart path_part(const jobs::JobGraph& job, const jobs::PathShare& share) {
  analysis::PathPart part;
  if (share.collective >= 0) {
    const jobs::JobGraph::Collective& one = job.collectives[static_cast<std::size_t>(share.collective)];
    part.collective = jobs::kind_name(one.kind);
    if (one.bucket >= 0) {
      part.bucket = one.bucket;
    }
  } else if (share.part >= 0) {
    part.rank = job.parts[static_cast<std::size_t>(share.part)].ranks.front();
    part.line = job.graph.lines[share.line];
  }
  return part;
}

std::vector<analysis::PathPart> path_of(const jobs::Replay& replay, std::size_t steps) {
  std::map<std::string, analysis::PathPart> parts;  // of the same name: one
  for (const jobs::PathShare& share : jobs::critical_shares(replay.graph, replay.schedule)) {
    analysis::PathPart part = path_part(replay.graph, share);
    parts.try_emplace(report::path_part_text(part), part).first->second.ms += static_cast<double>(share.ns) / 1e6;
  }
  std::vector<analysis::PathPart> path;
  for (auto& [name, part] : parts) {
    part.share = part.ms / (static_cast<double>(replay.schedule.total_ns) / 1e6);
    part.ms /= static_cast<double>(steps);
    path.push_back(std::move(part));
  }
  std::ranges::stable_sort(path, std::greater{}, &analysis::PathPart::ms);
  return path;
}

}  // namespace

base::Result<std::vector<recording::Recording>> recordings_of(const jobs::Job& job) {
  std::vector<recording::Recording> recordings;
  for (const jobs::JobRank& rank : job.ranks) {
    if (rank.recording == nullptr) {
      return base::error("traces of torch.profiler are not replayed together");
    }
    auto recording = recording::Recording::parse(rank.recording);
    if (recording) {
      recording = analysis::place_compiled_code(*recording);
    }
    if (!recording) {
      return base::error(fmt::format("rank {}: its recording {}", rank.record.rank, recording.error().message()));
    }
    recordings.push_back(std::move(*recording));
  }
  return recordings;
}

base::Result<Replayed> replayed(const jobs::RecordedJob& job) {
  const auto replay = jobs::replay(job);
  if (!replay) {
    return replay.error();
  }
  Replayed result;
  result.replay = {job.steps.front(), job.steps.back(), jobs::median_step_ms(job.recorded_ns),
                   jobs::median_step_ms(replay->step_ns), path_of(*replay, job.steps.size())};
  for (const jobs::EqualRanks& rank : job.ranks) {
    result.computing.push_back(jobs::thread_times(rank.graph, job.steps.size()));
  }
  return result;
}

std::string not_replayed(const base::Error& problem) { return "The job is not replayed: " + problem.message() + "."; }

}  // namespace ridgeline::app
