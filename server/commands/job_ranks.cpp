#include "commands/job_ranks.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "analysis/attribution/source_scope.h"
#include "base/file.h"
#include "commands/exit_codes.h"
#include "commands/failure_text.h"
#include "commands/terminal.h"
#include "communication/rank_figures.h"
#include "communication/rank_record.h"
#include "profiling/ran_sources.h"
#include "profiling/script_run.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::commands {

namespace {

using communication::Job;
using communication::RankFigures;

std::string cell(const std::optional<double>& ms) { return ms.has_value() ? report::duration(*ms) : "–"; }

std::string place_of(const communication::LineCommunication& line, const analysis::SourceScope& scope) {
  return line.file.empty() ? "(no line of yours)"
                           : fmt::format("{}:{}", analysis::display_path(line.file, scope), line.line);
}

/// What the rank spends at its lines, without what it waits there for communication.
communication::RankWork work_of(const Rank& rank, const std::vector<communication::LineCommunication>& waits) {
  communication::RankWork work{rank.rank, {}};
  const analysis::Profile& profile = rank.run.profile;
  for (const analysis::LineCost& line : profile.lines) {
    const std::string place = fmt::format("{}:{}", line.location.file, line.location.line);
    double ms = line.self_ms;
    for (const communication::LineCommunication& wait : waits) {
      if (place_of(wait, rank.run.recorded.scope) == place) ms -= wait.exposed_ms;
    }
    work.lines.push_back(
        {place, std::max(0.0, ms), line.self_by_phase[static_cast<std::size_t>(analysis::Phase::kData)]});
  }
  return work;
}

std::string straggler_text(const communication::Straggler& straggler) {
  const std::string slower = slower_text(straggler);
  if (straggler.place.empty()) return slower + "; no single line makes up half of that.\n";
  return fmt::format("{}: {}{}.\n", slower, straggler.is_data_loading ? "data loading, " : "", straggler.place);
}

std::string communication_text(const std::vector<Rank>& ranks, const Job& job) {
  const auto records = records_of(job);
  const auto figures = communication::rank_figures(records);
  if (figures.empty()) {
    return "\nThe ranks recorded no step that all of them took: they cannot be compared.\n";
  }
  std::string text = figures_text(records, figures);
  const auto lines = communication::line_communication(records);
  std::vector<communication::RankWork> work;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto rank = std::ranges::find(ranks, records[i].rank, &Rank::rank);
    work.push_back(work_of(*rank, lines[i]));
  }
  text +=
      lines_text(records[0].rank, lines[0], std::ranges::find(ranks, records[0].rank, &Rank::rank)->run.recorded.scope);
  if (const auto straggler = communication::find_straggler(records, work)) {
    text += "\n" + straggler_text(*straggler);
  }
  return text;
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
  auto run = profiling::analyse_process(std::move(process), options, began);
  if (!run) {
    return failure_text(run.error(), options.spec.project_root);
  }
  profiling::add_line_texts(run->profile, profiling::ran_sources(run->profile, {}, began).texts);
  rank.run = std::move(*run);
  return rank;
}

Job job_of(const std::vector<Rank>& ranks, const std::string& command) {
  Job job;
  job.command = command;
  std::vector<communication::TracedRank> traced;
  std::set<std::string> warnings;
  for (const Rank& rank : ranks) {
    if (!rank.communication.has_value() || rank.recording == nullptr || rank.world_size <= rank.rank) continue;
    const analysis::BatchRun& run = rank.run.recorded.run;
    traced.push_back(communication::trace_rank(run.recording, *rank.communication, rank.run.recorded.scope, rank.rank,
                                               rank.world_size));
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
  std::vector<communication::RankRecord> records = communication::connect_ranks(std::move(traced), job.warnings);
  for (std::size_t i = 0; i < records.size(); ++i) job.ranks[i].record = std::move(records[i]);
  return job;
}

std::vector<communication::RankRecord> records_of(const Job& job) {
  std::vector<communication::RankRecord> records;
  for (const communication::JobRank& rank : job.ranks) records.push_back(rank.record);
  return records;
}

analysis::Communication communication_of(const RankFigures& one,
                                         const std::vector<communication::LineCommunication>& lines, int steps,
                                         const analysis::SourceScope& scope) {
  analysis::Communication made{one.rank, steps, one.step_ms, one.exposed_ms, one.waiting_ms, one.hidden_ms, {}};
  for (const communication::LineCommunication& line : lines) {
    const std::string file = line.file.empty() ? "" : analysis::display_path(line.file, scope);
    made.lines.push_back(
        {{file, static_cast<std::uint32_t>(line.line)}, line.exposed_ms, line.waiting_ms, line.hidden_ms});
  }
  return made;
}

void add_communication(std::vector<Rank>& ranks, const Job& job) {
  const auto records = records_of(job);
  const auto figures = communication::rank_figures(records);
  const auto lines = communication::line_communication(records);
  const auto steps = static_cast<int>(communication::common_steps(records).size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto rank = std::ranges::find(ranks, records[i].rank, &Rank::rank);
    auto& script = rank->run.profile.script;
    if (!script.has_value()) continue;
    script->communication = communication_of(figures[i], lines[i], steps, rank->run.recorded.scope);
  }
}

std::string ranks_text(const std::vector<Rank>& ranks, const Job& job, bool numbered) {
  std::string text = numbered ? "\nRanks\n" : "\nProcesses, in the order in which they imported torch\n";
  text += fmt::format("  {:<6}{:>12}{:>20}{:>14}{:>14}\n", "", "step", "throughput", "peak memory", "data loading");
  for (const Rank& one : ranks) {
    const analysis::Profile& profile = one.run.profile;
    text += fmt::format("  {:<6}{:>12}{:>20}{:>14}{:>14}\n", one.rank, report::duration(profile.iteration.ms.value),
                        report::throughput_text(profile), report::peak_text(profile), loading_text(profile));
  }
  if (!job.ranks.empty() && numbered) text += communication_text(ranks, job);
  for (const std::string& warning : job.warnings) text += "! " + warning + "\n";
  return text;
}

std::string slower_text(const communication::Straggler& straggler) {
  return straggler.slower < 1 ? fmt::format("Rank {} is {:.0f} % slower than the others in its own work",
                                            straggler.rank, 100 * straggler.slower)
                              : fmt::format("Rank {} takes {:.1f} times as long as the others for its own work",
                                            straggler.rank, 1 + straggler.slower);
}

std::string figures_text(const std::vector<communication::RankRecord>& records,
                         const std::vector<RankFigures>& figures) {
  const auto steps = communication::common_steps(records);
  std::string text = fmt::format(
      "\nCommunication in steps {} to {}, with the cost of recording\n"
      "  {:<6}{:>12}{:>12}{:>14}{:>16}{:>12}\n",
      steps.front(), steps.back(), "rank", "step", "own work", "comm exposed", "of it for ranks", "hidden");
  for (const RankFigures& one : figures) {
    text += fmt::format("  {:<6}{:>12}{:>12}{:>14}{:>16}{:>12}\n", one.rank, report::duration(one.step_ms),
                        report::duration(one.own_ms()), report::duration(one.exposed_ms), cell(one.waiting_ms),
                        report::duration(one.hidden_ms));
  }
  return text;
}

std::string lines_text(int rank, const std::vector<communication::LineCommunication>& lines,
                       const analysis::SourceScope& scope) {
  std::string text = fmt::format("\nCommunication by line, rank {}\n  {:<34}{:>12}{:>16}{:>12}\n", rank, "", "exposed",
                                 "of it for ranks", "hidden");
  for (const communication::LineCommunication& line : lines) {
    text += fmt::format("  {:<34}{:>12}{:>16}{:>12}\n", place_of(line, scope), report::duration(line.exposed_ms),
                        cell(line.waiting_ms), report::duration(line.hidden_ms));
  }
  return text;
}

int write_job(const Job& job, const std::string& file) {
  if (job.ranks.empty()) {
    print_error(
        fmt::format("{} was not written: no rank of the command used torch.distributed while it was recorded", file));
    return kExitEnvironment;
  }
  if (const auto problem = base::write_atomically(file, communication::serialise_job(job), base::FileAccess::kUmask)) {
    print_error(fmt::format("cannot write {}: {}", file, problem.message()));
    return kExitEnvironment;
  }
  return kExitOk;
}

}  // namespace ridgeline::commands
