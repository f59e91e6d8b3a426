#include "app/script_job.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/jobs/job_files.h"
#include "app/jobs/make_job_report.h"
#include "jobs/record/rank_figures.h"
#include "jobs/record/rank_record.h"

namespace ridgeline::app {

namespace {

/// Whether each process has a rank of its own. Those that no launcher numbered, as of torch.multiprocessing.spawn, are
/// numbered as they joined.
bool number_processes(std::vector<RankRun>& ranks) {
  std::set<int> known;
  for (const RankRun& one : ranks) {
    known.insert(one.rank);
  }
  const bool numbered = known.size() == ranks.size();
  for (std::size_t i = 0; !numbered && i < ranks.size(); ++i) {
    ranks[i].rank = static_cast<int>(i);
  }
  return numbered;
}

/// What the rank spends at its lines, without what it waits there for communication.
jobs::RankWork rank_work(const RankRun& rank, const std::vector<jobs::LineCommunication>& waits) {
  jobs::RankWork work{rank.rank, {}};
  const analysis::Profile& profile = rank.run.profile;
  for (const analysis::LineCost& line : profile.lines) {
    double ms = line.self_ms;
    for (const jobs::LineCommunication& wait : waits) {
      if (location_of(wait, rank.run.recorded.scope) == line.location) {
        ms -= wait.exposed_ms;
      }
    }
    work.lines.push_back(
        {line.location, std::max(0.0, ms), line.self_by_phase[static_cast<std::size_t>(analysis::Phase::kData)]});
  }
  return work;
}

/// The job of those ranks that have a process group.
jobs::Job job_of(const std::vector<RankRun>& ranks, const std::string& command) {
  jobs::Job job;
  job.command = command;
  std::vector<jobs::TracedRank> traced;
  std::set<std::string> warnings;
  for (const RankRun& rank : ranks) {
    if (!rank.communication.has_value() || rank.recording == nullptr || rank.world_size <= rank.rank) {
      continue;
    }
    const analysis::BatchRun& run = rank.run.recorded.run;
    traced.push_back(
        jobs::trace_rank(run.recording, *rank.communication, rank.run.recorded.scope, rank.rank, rank.world_size));
    for (const std::string& warning : traced.back().warnings) {
      warnings.insert(fmt::format("Rank {}: {}", rank.rank, warning));
    }
    const analysis::Profile& profile = rank.run.profile;
    const bool loads = profile.script.has_value() && profile.script->loading.has_value();
    job.ranks.push_back(
        {{}, run.batch_size, run.times_ns, loads ? profile.script->loading->wait_ms * 1e6 : 0, rank.recording});
    job.scope = {rank.run.recorded.scope.project_root, rank.run.recorded.scope.environment_roots, {}};
    job.torch = profile.environment.torch;
  }
  job.warnings.assign(warnings.begin(), warnings.end());
  std::vector<jobs::RankRecord> records = jobs::connect_ranks(std::move(traced), job.warnings);
  for (std::size_t i = 0; i < records.size(); ++i) {
    job.ranks[i].record = std::move(records[i]);
  }
  return job;
}

/// Adds to the profile of each rank what it waits for.
void add_communication(std::vector<RankRun>& ranks, const jobs::Job& job) {
  const auto records = records_of(job);
  const auto figures = jobs::rank_figures(records);
  const auto lines = jobs::line_communication(records);
  const auto steps = static_cast<int>(jobs::common_steps(records).size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto rank = std::ranges::find(ranks, records[i].rank, &RankRun::rank);
    auto& script = rank->run.profile.script;
    if (!script.has_value()) {
      continue;
    }
    script->communication = communication_of(figures[i], lines[i], steps, rank->run.recorded.scope);
  }
}

}  // namespace

base::Task<Answer<ScriptJob>> profile_script(ScriptRunner& runner, ScriptQuestion question) {
  auto running = run_script(runner, question);
  auto run = co_await std::move(running);
  if (!run) {
    co_return std::move(run).error();
  }
  const auto script = std::make_shared<ScriptJob>(ScriptJob{std::move(*run), false, {}, ""});
  auto comparing = runner.off_loop([script, question = std::move(question)] {
    std::vector<RankRun>& ranks = script->run.ranks;
    script->numbered = number_processes(ranks);
    script->job = job_of(ranks, command_line(question.script.command));
    if (script->numbered) {
      add_communication(ranks, script->job);
    }
    if (!ranks.empty()) {
      script->warning = keep_script_profile(ranks.front(), question.script.place);
    }
  });
  co_await std::move(comparing);
  co_return std::move(*script);
}

analysis::JobReport compared_ranks(const ScriptJob& script) {
  const auto records = records_of(script.job);
  analysis::JobReport report = job_report(script.job, {records, {}, {}});
  const auto lines = jobs::line_communication(records);
  std::vector<jobs::RankWork> work;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto rank = std::ranges::find(script.run.ranks, records[i].rank, &RankRun::rank);
    work.push_back(rank_work(*rank, lines[i]));
  }
  if (const auto straggler = jobs::find_straggler(records, work)) {
    report.slower = slower_rank(*straggler, true);
  }
  return report;
}

}  // namespace ridgeline::app
