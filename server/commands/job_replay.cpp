#include "commands/job_replay.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cluster/changed_step.h"
#include "cluster/job_analysis.h"
#include "cluster/recorded_job.h"
#include "commands/described_cluster.h"
#include "commands/job_change.h"
#include "commands/job_ranks.h"
#include "communication/kinds.h"
#include "protocol/recording.h"
#include "protocol/shown_text.h"
#include "report/job_report.h"
#include "report/units.h"

namespace ridgeline::commands {

namespace {

using communication::Job;
using communication::RankRecord;

constexpr std::size_t kMostShares = 10;

/// Of one thing of the path: what it is, without its time.
analysis::PathPart path_part(const cluster::JobGraph& job, const cluster::PathShare& share) {
  analysis::PathPart part;
  if (share.collective >= 0) {
    const cluster::JobGraph::Collective& one = job.collectives[static_cast<std::size_t>(share.collective)];
    part.collective = communication::kind_name(one.kind);
    if (one.bucket >= 0) part.bucket = one.bucket;
  } else if (share.part >= 0) {
    part.rank = job.parts[static_cast<std::size_t>(share.part)].ranks.front();
    part.line = job.graph.lines[share.line];
  }
  return part;
}

std::vector<analysis::PathPart> path_of(const cluster::Replay& replay, std::size_t steps) {
  std::map<std::string, analysis::PathPart> parts;  // of the same name: one
  for (const cluster::PathShare& share : cluster::critical_shares(replay.graph, replay.schedule)) {
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

base::Result<analysis::ChangedStep> changed(const cluster::RecordedJob& job, std::string name,
                                            const std::vector<std::string>& changes) {
  auto made = changed_job(job, changes);
  if (!made) return made.error();
  const auto unchanged = cluster::replay(made->unchanged);
  if (!unchanged) return unchanged.error();
  std::vector<cluster::Replay> replays;
  for (const cluster::RecordedJob& one : made->jobs) {
    auto replayed = cluster::replay(one);
    if (!replayed) return replayed.error();
    replays.push_back(std::move(*replayed));
  }
  analysis::ChangedStep step = cluster::changed_step(job, *unchanged, replays);
  step.change = std::move(name);
  step.notes = std::move(made->notes);
  return step;
}

std::string interval(const analysis::Measured& ms) {
  return fmt::format("{} ({} to {})", report::duration(ms.value), report::duration(ms.low), report::duration(ms.high));
}

std::string changes_text(const std::vector<analysis::ChangedStep>& changes) {
  if (changes.empty()) return "";
  std::string text = fmt::format(
      "\nReplayed with a change: a prediction with its 95 % interval, with the cost of recording\n"
      "  {:<42}{:>34}  {}\n",
      "change", "step", "speed-up");
  std::vector<std::string> notes;
  for (const analysis::ChangedStep& one : changes) {
    text += fmt::format("  {:<42}{:>34}  {:.2f}x ({:.2f} to {:.2f})\n", protocol::printable(one.change),
                        interval(one.step_ms), one.speed_up.value, one.speed_up.low, one.speed_up.high);
    for (const std::string& note : one.notes) {
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    }
  }
  for (const std::string& note : notes) text += "  " + note + "\n";
  return text + "  Not modelled: cores that ranks and their communication share.\n";
}

}  // namespace

base::Result<std::vector<recording::Recording>> recordings_of(const Job& job) {
  std::vector<recording::Recording> recordings;
  for (const communication::JobRank& rank : job.ranks) {
    if (rank.recording == nullptr) return base::error("traces of torch.profiler are not replayed together");
    auto recording = recording::Recording::parse(rank.recording);
    if (!recording) {
      return base::error(fmt::format("rank {}: its recording {}", rank.record.rank, recording.error().message()));
    }
    recordings.push_back(std::move(*recording));
  }
  return recordings;
}

base::Result<cluster::RecordedJob> job_graph(const Job& job, const std::vector<RankRecord>& aligned,
                                             const std::vector<recording::Recording>& recordings,
                                             const std::string& network) {
  auto graph = cluster::recorded_job(records_of(job), aligned, recordings, job.scope);
  if (!graph || network.empty()) return graph;
  const auto measured = all_reduce_time(network, job.ranks.size());
  if (!measured) return measured.error();
  graph->measured_all_reduce = *measured;
  return graph;
}

void add_network_option(CLI::App& command, std::string& network) {
  command.add_option("--network", network,
                     "Written by `ridgeline network` on the same links: tells what of an all-reduce is latency");
}

base::Result<ReplayedJob> replayed_job(const cluster::RecordedJob& job, const std::vector<std::string>& changes) {
  const auto replayed = cluster::replay(job);
  if (!replayed) return replayed.error();
  ReplayedJob result;
  result.replay = {job.steps.front(), job.steps.back(), cluster::median_step_ms(job.recorded_ns),
                   cluster::median_step_ms(replayed->step_ns), path_of(*replayed, job.steps.size())};
  for (const cluster::EqualRanks& rank : job.ranks) {
    result.computing.push_back(cluster::thread_times(rank.graph, job.steps.size()));
  }
  for (const std::string& change : changes) {
    auto one = changed(job, change, {change});
    if (!one) return one.error();
    result.changes.push_back(std::move(*one));
  }
  if (changes.size() > 1) {
    auto all = changed(job, "all", changes);
    if (!all) return all.error();
    result.changes.push_back(std::move(*all));
  }
  return result;
}

std::string replay_text(const ReplayedJob& job) {
  const analysis::JobReplay& replay = job.replay;
  std::string text =
      fmt::format("\nReplay of steps {} to {}, with the cost of recording\n  replayed {}, recorded {} ({:+.1f} %)\n",
                  replay.first_step, replay.last_step, report::duration(replay.replayed_ms),
                  report::duration(replay.recorded_ms), 100 * (replay.replayed_ms / replay.recorded_ms - 1));
  text += "\nCritical path over all ranks, of a replayed step\n";
  for (std::size_t i = 0; i < std::min(kMostShares, replay.path.size()); ++i) {
    const analysis::PathPart& part = replay.path[i];
    text += fmt::format("  {:<42}{:>12}{:>8.1f} %\n", report::path_part_text(part), report::duration(part.ms),
                        100 * part.share);
  }
  return text + changes_text(job.changes);
}

}  // namespace ridgeline::commands
