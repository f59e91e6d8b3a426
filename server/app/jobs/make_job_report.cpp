#include "app/jobs/make_job_report.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "analysis/attribution/source_scope.h"
#include "analysis/time/models.h"
#include "app/jobs/changed_steps.h"
#include "app/jobs/job_files.h"

namespace ridgeline::app {

namespace {

using jobs::RankFigures;
using jobs::RankRecord;

std::vector<analysis::RecordedRankFigures> rank_rows(const jobs::Job& job) {
  std::vector<analysis::RecordedRankFigures> rows;
  for (const jobs::JobRank& rank : job.ranks) {
    analysis::RecordedRankFigures row{rank.record.rank, rank.record.host, {}, {}, {}};
    if (!rank.times_ns.empty()) {
      row.bare_step_ms = analysis::median(rank.times_ns) / 1e6;
    }
    if (rank.data_wait_ns > 0) {
      row.data_loading_ms = rank.data_wait_ns / 1e6;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<analysis::MachineClock> clocks_of(const jobs::OneClock& aligned) {
  std::vector<analysis::MachineClock> clocks;
  for (std::size_t i = 1; i < aligned.machines.size(); ++i) {
    const jobs::ClockOffset& clock = aligned.clocks[i];
    const auto seconds = [&](double ns) { return (static_cast<double>(clock.base_ns) + ns) / 1e9; };
    const jobs::OffsetRange& range = clock.at_begin;
    clocks.push_back({aligned.machines[i], seconds(range.estimate), seconds(range.lowest), seconds(range.highest),
                      clock.drift_ppm()});
  }
  return clocks;
}

void add_rank_communication(const std::vector<RankRecord>& records, const analysis::SourceScope& scope,
                            std::vector<analysis::RecordedRankFigures>& ranks) {
  const auto figures = jobs::rank_figures(records);
  if (figures.empty()) {
    return;
  }
  const auto lines = jobs::line_communication(records);
  const auto steps = static_cast<int>(jobs::common_steps(records).size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].communication = communication_of(figures[i], lines[i], steps, scope);
  }
}

/// Adds the replay of the job, with what the lines of each rank compute.
void add_replay(analysis::JobReport& report, const Replayed& replayed) {
  for (std::size_t i = 0; i < replayed.computing.size(); ++i) {
    report.ranks[i].computing = replayed.computing[i];
  }
  report.replay = replayed.replay;
}

base::Result<jobs::RecordedJob> graph_of(const jobs::Job& job, const jobs::OneClock& aligned,
                                         const std::string& network) {
  const auto recordings = recordings_of(job);
  return recordings ? job_graph(job, aligned.records, *recordings, network)
                    : base::Result<jobs::RecordedJob>(recordings.error());
}

/// Adds the replay of the job and of its changes, or a warning where there is none. An error where one was asked for.
base::Result<void> add_replays(const jobs::Job& job, const jobs::OneClock& aligned, const JobQuestion& question,
                               analysis::JobReport& report) {
  const auto graph = graph_of(job, aligned, question.network);
  const auto replay = graph ? replayed(*graph) : base::Result<Replayed>(graph.error());
  if (!replay) {
    if (!question.changes.empty() || !question.network.empty()) {
      return replay.error();
    }
    report.warnings.push_back(not_replayed(replay.error()));
    return {};
  }
  auto changes = changed_steps(*graph, question.changes);
  if (!changes) {
    return changes.error();
  }
  add_replay(report, *replay);
  report.changes = std::move(*changes);
  return {};
}

/// What the ranks did, from the first of their steps on.
std::vector<analysis::RankTimeline> timelines_of(const std::vector<RankRecord>& records) {
  const auto activities = jobs::rank_activity(records);
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const jobs::RankActivity& one : activities) {
    begin = std::min(begin, one.steps.front().begin);
  }
  const auto spans = [&](const std::vector<jobs::Span>& from) {
    std::vector<analysis::TimeSpan> to;
    for (const jobs::Span& span : from) {
      to.push_back({static_cast<double>(span.begin - begin) / 1e6, static_cast<double>(span.end - begin) / 1e6});
    }
    return to;
  };
  std::vector<analysis::RankTimeline> timelines;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    const jobs::RankActivity& one = activities[i];
    timelines.push_back({records[i].rank, spans(one.steps), spans(one.waiting), spans(one.network), spans(one.hidden)});
  }
  return timelines;
}

/// Which rank the others wait for, and the line that makes it so where `report` has what the lines compute.
std::optional<analysis::SlowerRank> slowest_of(const analysis::JobReport& report, const jobs::OneClock& aligned) {
  std::vector<jobs::RankWork> work;
  for (const analysis::RecordedRankFigures& rank : report.ranks) {
    if (rank.computing.empty()) {
      continue;
    }
    jobs::RankWork& one = work.emplace_back(jobs::RankWork{rank.rank, {}});
    for (const analysis::LineTime& line : rank.computing) {
      one.lines.push_back({line.line, line.ms, line.data_ms});
    }
  }
  const auto straggler = jobs::find_straggler(aligned.records, work);
  if (!straggler.has_value()) {
    return std::nullopt;
  }
  return slower_rank(*straggler, work.size() == report.ranks.size());
}

}  // namespace

jobs::OneClock aligned(jobs::Job& job) {
  auto made = jobs::on_one_clock(records_of(job));
  if (made) {
    return std::move(*made);
  }
  job.warnings.push_back(made.error().message());
  return {records_of(job), {}, {}};
}

analysis::JobReport job_report(const jobs::Job& job, const jobs::OneClock& aligned) {
  analysis::JobReport report{job.command, rank_rows(job), clocks_of(aligned), {}, {}, job.warnings};
  add_rank_communication(aligned.records, job.scope, report.ranks);
  report.steps = jobs::common_steps(aligned.records);
  report.timelines = timelines_of(aligned.records);
  report.profiler = job.profiler;
  return report;
}

base::Result<analysis::JobReport> whole_report(jobs::Job job, const JobQuestion& question) {
  const jobs::OneClock by_one_clock = aligned(job);
  analysis::JobReport report = job_report(job, by_one_clock);
  if (const auto added = add_replays(job, by_one_clock, question, report); !added) {
    return added.error();
  }
  report.slower = slowest_of(report, by_one_clock);
  return report;
}

analysis::SlowerRank slower_rank(const jobs::Straggler& straggler, bool lines_known) {
  return {straggler.rank, straggler.slower, lines_known, straggler.line, straggler.is_data_loading};
}

analysis::Location location_of(const jobs::LineCommunication& line, const analysis::SourceScope& scope) {
  return {line.file.empty() ? "" : analysis::display_path(line.file, scope), static_cast<std::uint32_t>(line.line)};
}

analysis::Communication communication_of(const RankFigures& one, const std::vector<jobs::LineCommunication>& lines,
                                         int steps, const analysis::SourceScope& scope) {
  analysis::Communication made{one.rank, steps, one.step_ms, one.exposed_ms, one.waiting_ms, one.hidden_ms, {}};
  for (const jobs::LineCommunication& line : lines) {
    made.lines.push_back({location_of(line, scope), line.exposed_ms, line.waiting_ms, line.hidden_ms});
  }
  return made;
}

}  // namespace ridgeline::app
