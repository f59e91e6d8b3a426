#include "commands/job_replay.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/time/models.h"
#include "cluster/job_analysis.h"
#include "cluster/recorded_job.h"
#include "commands/job_change.h"
#include "commands/job_ranks.h"
#include "communication/kinds.h"
#include "protocol/recording.h"
#include "protocol/shown_text.h"
#include "report/units.h"

namespace ridgeline::commands {

namespace {

using communication::Job;
using communication::RankRecord;

constexpr std::size_t kMostShares = 10;

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

/// Of all ranks and steps, milliseconds.
double median_ms(const std::vector<std::vector<std::int64_t>>& by_rank) {
  std::vector<double> all;
  for (const std::vector<std::int64_t>& steps : by_rank) {
    for (const std::int64_t ns : steps) all.push_back(static_cast<double>(ns) / 1e6);
  }
  return analysis::median(all);
}

std::string share_name(const cluster::JobGraph& job, const cluster::PathShare& share) {
  if (share.collective >= 0) {
    const cluster::JobGraph::Collective& one = job.collectives[static_cast<std::size_t>(share.collective)];
    const std::string kind = communication::kind_name(one.kind);
    return one.bucket < 0 ? kind : fmt::format("{} of bucket {}", kind, one.bucket);
  }
  if (share.part < 0) return "messages";
  const int rank = job.parts[static_cast<std::size_t>(share.part)].ranks.front();
  const analysis::Location& line = job.graph.lines[share.line];
  return line.file.empty() ? fmt::format("rank {}, no line of yours", rank)
                           : fmt::format("rank {}, {}:{}", rank, line.file, line.line);
}

std::string shares_text(const cluster::Replay& replay, std::size_t steps) {
  std::map<std::string, std::int64_t> sums;
  for (const cluster::PathShare& share : cluster::critical_shares(replay.graph, replay.schedule)) {
    sums[share_name(replay.graph, share)] += share.ns;
  }
  std::vector<std::pair<std::int64_t, std::string>> shares;
  for (const auto& [name, ns] : sums) shares.emplace_back(ns, name);
  std::ranges::stable_sort(shares, std::greater{}, &std::pair<std::int64_t, std::string>::first);
  std::string text = "\nCritical path over all ranks, of a replayed step\n";
  for (std::size_t i = 0; i < std::min(kMostShares, shares.size()); ++i) {
    const auto& [ns, name] = shares[i];
    text += fmt::format("  {:<42}{:>12}{:>8.1f} %\n", name,
                        report::duration(static_cast<double>(ns) / 1e6 / static_cast<double>(steps)),
                        100 * static_cast<double>(ns) / static_cast<double>(replay.schedule.total_ns));
  }
  return text;
}

std::string change_row(std::string_view name, const cluster::Replay& changed, double unchanged_ms) {
  const double changed_ms = median_ms(changed.step_ns);
  return fmt::format("  {:<42}{:>12}{:>9.2f}x\n", protocol::printable(name), report::duration(changed_ms),
                     unchanged_ms / changed_ms);
}

base::Result<std::string> changes_text(const cluster::RecordedJob& job, const std::vector<std::string>& changes,
                                       double unchanged_ms) {
  if (changes.empty()) return std::string();
  std::string text =
      fmt::format("\nReplayed with a change: a prediction, with the cost of recording\n  {:<42}{:>12}{:>10}\n",
                  "change", "step", "speed-up");
  cluster::RecordedJob all = job;
  for (const std::string& change : changes) {
    auto alone = changed_job(job, change);
    if (!alone) return base::error(protocol::printable(change) + ": " + alone.error().message());
    const auto replayed = cluster::replay(*alone);
    if (!replayed) return replayed.error();
    text += change_row(change, *replayed, unchanged_ms);
    auto together = changed_job(std::move(all), change);
    if (!together) return base::error(protocol::printable(change) + ": " + together.error().message());
    all = std::move(*together);
  }
  if (changes.size() > 1) {
    const auto replayed = cluster::replay(all);
    if (!replayed) return replayed.error();
    text += change_row("all", *replayed, unchanged_ms);
  }
  return text + "  Not modelled: cores that ranks and their communication share.\n";
}

}  // namespace

base::Result<std::string> replay_text(const Job& job, const std::vector<RankRecord>& aligned,
                                      const std::vector<std::string>& changes) {
  const auto recordings = recordings_of(job);
  if (!recordings) return recordings.error();
  const std::vector<RankRecord> records = records_of(job);
  const auto recorded = cluster::recorded_job(records, aligned, *recordings, job.scope);
  if (!recorded) return recorded.error();
  const auto replayed = cluster::replay(*recorded);
  if (!replayed) return replayed.error();
  const double replayed_ms = median_ms(replayed->step_ns);
  const double recorded_ms = median_ms(recorded->recorded_ns);
  const auto changed = changes_text(*recorded, changes, replayed_ms);
  if (!changed) return changed.error();
  return fmt::format("\nReplay of steps {} to {}, with the cost of recording\n  replayed {}, recorded {} ({:+.1f} %)\n",
                     recorded->steps.front(), recorded->steps.back(), report::duration(replayed_ms),
                     report::duration(recorded_ms), 100 * (replayed_ms / recorded_ms - 1)) +
         shares_text(*replayed, recorded->steps.size()) + *changed;
}

}  // namespace ridgeline::commands
