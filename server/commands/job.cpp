#include "commands/job.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/time/models.h"
#include "analysis/values/job_report.h"
#include "cluster/one_clock.h"
#include "commands/exit_codes.h"
#include "commands/imported_trace.h"
#include "commands/job_change.h"
#include "commands/job_execution_traces.h"
#include "commands/job_files.h"
#include "commands/job_ranks.h"
#include "commands/job_replay.h"
#include "commands/job_traces.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "communication/job_file.h"
#include "communication/rank_figures.h"
#include "exports/job_timeline.h"
#include "protocol/shown_text.h"
#include "report/job_report.h"
#include "report/units.h"

namespace ridgeline::commands {

namespace {

using communication::Job;
using communication::RankRecord;

struct JobRequest {
  std::vector<std::string> files;
  int lines_of = -1;  ///< a rank; -1: the first
  std::vector<std::string> changes;
  std::string network;  ///< a file; empty: none
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

std::vector<analysis::RecordedRankFigures> rank_rows(const Job& job) {
  std::vector<analysis::RecordedRankFigures> rows;
  for (const communication::JobRank& rank : job.ranks) {
    analysis::RecordedRankFigures row{rank.record.rank, rank.record.host, {}, {}, {}};
    if (!rank.times_ns.empty()) row.bare_step_ms = analysis::median(rank.times_ns) / 1e6;
    if (rank.data_wait_ns > 0) row.data_loading_ms = rank.data_wait_ns / 1e6;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The same, or of traces of torch.profiler. What is wrong is written to stderr.
base::Result<Job, ExitCode> read_or_report(const std::vector<std::string>& files) {
  if (std::ranges::any_of(files, looks_like_trace)) return job_of_traces(files);
  auto job = read_jobs(files);
  if (job) return std::move(*job);
  print_error(job.error().message());
  return ExitCode{kExitUsage};
}

std::string ranks_table(const std::vector<analysis::RecordedRankFigures>& ranks) {
  const auto cell = [](const std::optional<double>& ms) { return ms.has_value() ? report::duration(*ms) : "–"; };
  std::string text = fmt::format("  {:<6}{:>12}{:>14}  {}\n", "rank", "bare step", "data loading", "machine");
  for (const analysis::RecordedRankFigures& rank : ranks) {
    text += fmt::format("  {:<6}{:>12}{:>14}  {}\n", rank.rank, cell(rank.bare_step_ms), cell(rank.data_loading_ms),
                        protocol::printable(rank.machine));
  }
  return text;
}

std::vector<analysis::MachineClock> clocks_of(const cluster::OneClock& aligned) {
  std::vector<analysis::MachineClock> clocks;
  for (std::size_t i = 1; i < aligned.machines.size(); ++i) {
    const cluster::ClockOffset& clock = aligned.clocks[i];
    const auto seconds = [&](double ns) { return (static_cast<double>(clock.base_ns) + ns) / 1e9; };
    const cluster::OffsetRange& range = clock.at_begin;
    clocks.push_back({aligned.machines[i], seconds(range.estimate), seconds(range.lowest), seconds(range.highest),
                      clock.drift_ppm()});
  }
  return clocks;
}

void add_rank_communication(const std::vector<RankRecord>& records, const analysis::SourceScope& scope,
                            std::vector<analysis::RecordedRankFigures>& ranks) {
  const auto figures = communication::rank_figures(records);
  if (figures.empty()) return;
  const auto lines = communication::line_communication(records);
  const auto steps = static_cast<int>(communication::common_steps(records).size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].communication = communication_of(figures[i], lines[i], steps, scope);
  }
}

/// What the ranks did, from the first of their steps on.
std::vector<analysis::RankTimeline> timelines_of(const std::vector<RankRecord>& records) {
  const auto activities = communication::rank_activity(records);
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const communication::RankActivity& one : activities) begin = std::min(begin, one.steps.front().begin);
  const auto spans = [&](const std::vector<communication::Span>& from) {
    std::vector<analysis::TimeSpan> to;
    for (const communication::Span& span : from) {
      to.push_back({static_cast<double>(span.begin - begin) / 1e6, static_cast<double>(span.end - begin) / 1e6});
    }
    return to;
  };
  std::vector<analysis::RankTimeline> timelines;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    const communication::RankActivity& one = activities[i];
    timelines.push_back({records[i].rank, spans(one.steps), spans(one.waiting), spans(one.network), spans(one.hidden)});
  }
  return timelines;
}

/// What was added to each clock, and between which ends the truth is.
std::string clocks_text(const cluster::OneClock& aligned) {
  if (aligned.machines.size() < 2) return "";
  std::string text =
      fmt::format("\nClocks, by that of {}\n  {:<24}{:>18}{:>26}{:>12}\n",
                  protocol::printable(aligned.machines.front()), "machine", "offset", "true offset within", "drift");
  for (std::size_t i = 1; i < aligned.machines.size(); ++i) {
    const cluster::ClockOffset& clock = aligned.clocks[i];
    const cluster::OffsetRange& range = clock.at_begin;
    text += fmt::format("  {:<24}{:>16.6f} s{:>26}{:>8.1f} ppm\n", protocol::printable(aligned.machines[i]),
                        (static_cast<double>(clock.base_ns) + range.estimate) / 1e9,
                        fmt::format("-{:.1f} to +{:.1f} us", (range.estimate - range.lowest) / 1e3,
                                    (range.highest - range.estimate) / 1e3),
                        clock.drift_ppm());
  }
  return text + "  What a rank waits for ranks of other machines is uncertain by as much.\n";
}

std::string communication_text(const std::vector<RankRecord>& records, const Job& job, std::size_t lines_of) {
  const auto figures = communication::rank_figures(records);
  if (figures.empty()) return "\nThe ranks recorded no step that all of them took: they cannot be compared.\n";
  std::string text =
      figures_text(records, figures) +
      lines_text(records[lines_of].rank, communication::line_communication(records)[lines_of], job.scope);
  return text;
}

base::Result<ReplayedJob> replay_of(const Job& job, const std::vector<RankRecord>& records, const JobRequest& request) {
  const auto recordings = recordings_of(job);
  if (!recordings) return recordings.error();
  const auto graph = job_graph(job, records, *recordings, request.network);
  return graph ? replayed_job(*graph, request.changes) : base::Result<ReplayedJob>(graph.error());
}

/// The replay of the job and of its changes; a warning where it has none. An error where changes were asked for.
std::optional<base::Error> add_replay(Job& job, const std::vector<RankRecord>& records, const JobRequest& request,
                                      analysis::JobReport& shown, std::string& text) {
  auto replayed = replay_of(job, records, request);
  if (!replayed && !(request.changes.empty() && request.network.empty())) return replayed.error();
  if (!replayed) {
    job.warnings.push_back("The job is not replayed: " + replayed.error().message() + ".");
    return std::nullopt;
  }
  text += replay_text(*replayed);
  for (std::size_t i = 0; i < replayed->computing.size(); ++i) {
    shown.ranks[i].computing = std::move(replayed->computing[i]);
  }
  shown.replay = std::move(replayed->replay);
  shown.changes = std::move(replayed->changes);
  return std::nullopt;
}

/// The records by one clock, as far as that is possible; what it says of it goes into the report.
std::vector<RankRecord> aligned_records(Job& job, analysis::JobReport& shown, std::string& text) {
  std::vector<RankRecord> records = records_of(job);
  auto aligned = cluster::on_one_clock(records);
  if (!aligned) {
    job.warnings.push_back(aligned.error().message());
    return records;
  }
  shown.clocks = clocks_of(*aligned);
  text += clocks_text(*aligned);
  return std::move(aligned->records);
}

int show(const JobRequest& request) {
  const std::string& format = request.output->format;
  if (!request.changes.empty() && (format == "perfetto" || format == "chakra")) {
    print_error("--change needs --format text or json: traces show what was recorded");
    return kExitUsage;
  }
  if (format == "chakra" && request.output->file.empty()) {
    print_error("--format chakra needs --output: a folder that is not there yet, for a file of each rank");
    return kExitUsage;
  }
  auto job = read_or_report(request.files);
  if (!job) return job.error().value;
  const int wanted = request.lines_of < 0 ? job->ranks.front().record.rank : request.lines_of;
  const auto rank_of = [](const communication::JobRank& rank) { return rank.record.rank; };
  const auto lines_of = std::ranges::find(job->ranks, wanted, rank_of) - job->ranks.begin();
  if (lines_of == std::ssize(job->ranks)) {
    print_error(fmt::format("no file has a record of rank {}", wanted));
    return kExitUsage;
  }
  analysis::JobReport shown{job->command, rank_rows(*job), {}, {}, {}, {}};
  std::string text = protocol::printable(job->command) + "\n\n" + ranks_table(shown.ranks);
  const std::vector<RankRecord> records = aligned_records(*job, shown, text);
  if (format == "perfetto") {
    for (const std::string& warning : job->warnings) print_error(protocol::printable(warning));
    return write_out(exports::job_timeline(records, job->scope), *request.output);
  }
  if (format == "chakra") return write_execution_traces(*job, records, request.output->file);
  add_rank_communication(records, job->scope, shown.ranks);
  text += communication_text(records, *job, static_cast<std::size_t>(lines_of));
  shown.steps = communication::common_steps(records);
  shown.timelines = timelines_of(records);
  if (const auto straggler = communication::find_straggler(records, {})) {
    shown.slower = slower_text(*straggler) + ".";
    text += "\n" + shown.slower + "\n";
  }
  if (const auto problem = add_replay(*job, records, request, shown, text)) {
    print_error(problem->message());
    return kExitUsage;
  }
  for (const std::string& warning : job->warnings) text += "! " + protocol::printable(warning) + "\n";
  shown.warnings = job->warnings;
  if (format == "html") return write_out(report::html_job_report(shown), *request.output);
  return write_out(format == "json" ? report::json_job_report(shown) : text, *request.output);
}

}  // namespace

void add_job_command(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<JobRequest>();
  CLI::App* command = app.add_subcommand(
      "job", "Say what the ranks of a recorded job waited for, with the clocks of its machines aligned.");
  command
      ->add_option(
          "FILES", request->files,
          "Written by `ridgeline run --job`: one, or one of each machine; or traces of torch.profiler, of each rank")
      ->required();
  command->add_option("--lines-of", request->lines_of, "The rank whose lines are shown; default: the first")
      ->check(number_in(0, 1'000'000));
  command
      ->add_option("--change", request->changes,
                   "Replay it with this change, too: " + job_change_names() + "; may be repeated: each alone, and all")
      ->allow_extra_args(false);
  add_network_option(*command, request->network);
  add_output_options(*command, request->output, {"text", "json", "html", "perfetto", "chakra"});
  command->footer(
      "Examples:\n"
      "  ridgeline job mine.ridgeline-job --change faster:train.py:40=2\n"
      "  ridgeline job node1.ridgeline-job node2.ridgeline-job --format perfetto --output ranks.json");
  command->callback([request, &exit_code] { exit_code = show(*request); });
}

}  // namespace ridgeline::commands
