#include "commands/job.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/time/models.h"
#include "base/file.h"
#include "cluster/one_clock.h"
#include "commands/exit_codes.h"
#include "commands/imported_trace.h"
#include "commands/job_change.h"
#include "commands/job_ranks.h"
#include "commands/job_replay.h"
#include "commands/job_traces.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "communication/job_file.h"
#include "communication/rank_figures.h"
#include "exports/job_timeline.h"
#include "protocol/shown_text.h"
#include "report/units.h"

namespace ridgeline::commands {

namespace {

using communication::Job;
using communication::RankRecord;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{8} << 30U;

struct JobRequest {
  std::vector<std::string> files;
  int lines_of = -1;  ///< a rank; -1: the first
  std::vector<std::string> changes;
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

/// The ranks of all files as one job; what it says is printable.
base::Result<Job> read_jobs(const std::vector<std::string>& files) {
  Job all;
  for (const std::string& file : files) {
    const auto bytes = base::read_text(file, kMostBytes);
    if (!bytes) return bytes.error();
    auto job = communication::parse_job(*bytes);
    if (!job) return base::error(file + ": " + job.error().message());
    if (all.command.empty()) all.command = job->command;
    if (all.scope.project_root.empty()) all.scope = job->scope;
    std::ranges::move(job->warnings, std::back_inserter(all.warnings));
    std::ranges::move(job->ranks, std::back_inserter(all.ranks));
  }
  std::ranges::stable_sort(all.ranks, {}, [](const communication::JobRank& rank) { return rank.record.rank; });
  return all;
}

/// The same, or of traces of torch.profiler. What is wrong is written to stderr.
base::Result<Job, ExitCode> read_or_report(const std::vector<std::string>& files) {
  if (std::ranges::any_of(files, looks_like_trace)) return job_of_traces(files);
  auto job = read_jobs(files);
  if (job) return std::move(*job);
  print_error(job.error().message());
  return ExitCode{kExitUsage};
}

std::string ranks_table(const Job& job) {
  std::string text = fmt::format("  {:<6}{:>12}{:>14}  {}\n", "rank", "bare step", "data loading", "machine");
  for (const communication::JobRank& rank : job.ranks) {
    const std::string step = rank.times_ns.empty() ? "–" : report::duration(analysis::median(rank.times_ns) / 1e6);
    const std::string data = rank.data_wait_ns > 0 ? report::duration(rank.data_wait_ns / 1e6) : "–";
    text +=
        fmt::format("  {:<6}{:>12}{:>14}  {}\n", rank.record.rank, step, data, protocol::printable(rank.record.host));
  }
  return text;
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
  if (const auto straggler = communication::find_straggler(records, {})) {
    text += "\n" + slower_text(*straggler) + ".\n";
  }
  return text;
}

int show(const JobRequest& request) {
  if (!request.changes.empty() && request.output->format != "text") {
    print_error("--change needs --format text: a timeline shows what was recorded");
    return kExitUsage;
  }
  auto job = read_or_report(request.files);
  if (!job) return job.error().value;
  const int wanted = request.lines_of < 0 ? job->ranks.front().record.rank : request.lines_of;
  std::vector<RankRecord> records = records_of(*job);
  const auto lines_of = std::ranges::find(records, wanted, &RankRecord::rank) - records.begin();
  if (lines_of == std::ssize(records)) {
    print_error(fmt::format("no file has a record of rank {}", wanted));
    return kExitUsage;
  }
  std::string text = protocol::printable(job->command) + "\n\n" + ranks_table(*job);
  if (auto aligned = cluster::on_one_clock(records)) {
    text += clocks_text(*aligned);
    records = std::move(aligned->records);
  } else {
    job->warnings.push_back(aligned.error().message());
  }
  if (request.output->format == "perfetto") {
    for (const std::string& warning : job->warnings) print_error(protocol::printable(warning));
    return write_out(exports::job_timeline(records, job->scope), *request.output);
  }
  text += communication_text(records, *job, static_cast<std::size_t>(lines_of));
  if (auto replayed = replay_text(*job, records, request.changes)) {
    text += *replayed;
  } else if (!request.changes.empty()) {
    print_error(replayed.error().message());
    return kExitUsage;
  } else {
    job->warnings.push_back("The job is not replayed: " + replayed.error().message() + ".");
  }
  for (const std::string& warning : job->warnings) text += "! " + protocol::printable(warning) + "\n";
  return write_out(text, *request.output);
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
  add_output_options(*command, request->output, {"text", "perfetto"});
  command->footer(
      "Examples:\n"
      "  ridgeline job mine.ridgeline-job --change faster:train.py:40=2\n"
      "  ridgeline job node1.ridgeline-job node2.ridgeline-job --format perfetto --output ranks.json");
  command->callback([request, &exit_code] { exit_code = show(*request); });
}

}  // namespace ridgeline::commands
