#include "cli/job_ranks.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "app/jobs/job_files.h"
#include "app/jobs/make_job_report.h"
#include "app/profiling/ran_sources.h"
#include "app/profiling/script_profile.h"
#include "base/file.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/terminal.h"
#include "jobs/record/rank_figures.h"
#include "jobs/record/rank_record.h"
#include "report/rendered_job.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::cli {

namespace {

using jobs::Job;

/// What the rank spends at its lines, without what it waits there for communication.
jobs::RankWork work_of(const Rank& rank, const std::vector<jobs::LineCommunication>& waits) {
  jobs::RankWork work{rank.rank, {}};
  const analysis::Profile& profile = rank.run.profile;
  for (const analysis::LineCost& line : profile.lines) {
    double ms = line.self_ms;
    for (const jobs::LineCommunication& wait : waits) {
      if (app::location_of(wait, rank.run.recorded.scope) == line.location) {
        ms -= wait.exposed_ms;
      }
    }
    work.lines.push_back(
        {line.location, std::max(0.0, ms), line.self_by_phase[static_cast<std::size_t>(analysis::Phase::kData)]});
  }
  return work;
}

std::string communication_text(const std::vector<Rank>& ranks, const Job& job) {
  const auto records = app::records_of(job);
  analysis::JobReport shown = app::job_report(job, {records, {}, {}});
  const auto lines = jobs::line_communication(records);
  std::vector<jobs::RankWork> work;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto rank = std::ranges::find(ranks, records[i].rank, &Rank::rank);
    work.push_back(work_of(*rank, lines[i]));
  }
  if (const auto straggler = jobs::find_straggler(records, work)) {
    shown.slower = app::slower_rank(*straggler, true);
  }
  return report::communication_text(shown, 0);
}

std::string loading_text(const analysis::Profile& profile) {
  const bool known = profile.script.has_value() && profile.script->loading.has_value();
  return known ? report::duration(profile.script->loading->wait_ms) : "–";
}

}  // namespace

base::Result<Rank, std::string> analysed_rank(worker::JobProcess process, const worker::JobOptions& options,
                                              const store::Moment& began) {
  Rank rank;
  rank.rank = process.joined.rank;
  rank.world_size = process.joined.ranks;
  rank.interpreter = process.joined.environment.executable;
  if (auto* output = std::get_if<worker::RunOutput>(&process.outcome)) {
    rank.communication = std::move(output->communication);
    const auto users =
        std::ranges::find(output->batches, output->result.batch_size, &worker::MeasuredBatch::batch_size);
    rank.recording = users == output->batches.end() ? nullptr : users->recording;
  }
  auto run = app::analyse_process(std::move(process), options, began);
  if (!run) {
    return failure_text(run.error(), options.spec.project_root);
  }
  app::add_line_texts(run->profile, app::ran_sources(run->profile, {}, began).texts);
  rank.run = std::move(*run);
  return rank;
}

Job job_of(const std::vector<Rank>& ranks, const std::string& command) {
  Job job;
  job.command = command;
  std::vector<jobs::TracedRank> traced;
  std::set<std::string> warnings;
  for (const Rank& rank : ranks) {
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

void add_communication(std::vector<Rank>& ranks, const Job& job) {
  const auto records = app::records_of(job);
  const auto figures = jobs::rank_figures(records);
  const auto lines = jobs::line_communication(records);
  const auto steps = static_cast<int>(jobs::common_steps(records).size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto rank = std::ranges::find(ranks, records[i].rank, &Rank::rank);
    auto& script = rank->run.profile.script;
    if (!script.has_value()) {
      continue;
    }
    script->communication = app::communication_of(figures[i], lines[i], steps, rank->run.recorded.scope);
  }
}

std::string ranks_text(const std::vector<Rank>& ranks, const Job& job, bool numbered, report::ShownWarnings warnings) {
  std::string text = numbered ? "\nRanks\n" : "\nProcesses, in the order in which they imported torch\n";
  text += fmt::format("  {:<6}{:>12}{:>20}{:>14}{:>14}\n", "", "step", "throughput", "peak memory", "data loading");
  for (const Rank& one : ranks) {
    const analysis::Profile& profile = one.run.profile;
    text += fmt::format("  {:<6}{:>12}{:>20}{:>14}{:>14}\n", one.rank, report::duration(profile.iteration.ms.value),
                        report::throughput_text(profile), report::peak_text(profile), loading_text(profile));
  }
  if (!job.ranks.empty() && numbered) {
    text += communication_text(ranks, job);
  }
  for (const std::string& warning : report::shown_warnings(job.warnings, warnings)) {
    text += "! " + warning + "\n";
  }
  return text;
}

int write_job(const Job& job, const std::string& file) {
  if (job.ranks.empty()) {
    print_error(
        fmt::format("{} was not written: no rank of the command used torch.distributed while it was recorded", file));
    return kExitEnvironment;
  }
  if (const auto problem = base::write_atomically(file, jobs::serialise_job(job), base::FileAccess::kUmask)) {
    print_error(fmt::format("cannot write {}: {}", file, problem.message()));
    return kExitEnvironment;
  }
  return kExitOk;
}

}  // namespace ridgeline::cli
