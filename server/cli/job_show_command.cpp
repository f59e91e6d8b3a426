#include "cli/job_show_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/values/job_report.h"
#include "app/jobs/job_files.h"
#include "app/jobs/job_replay.h"
#include "app/jobs/make_job_report.h"
#include "cli/exit_codes.h"
#include "cli/imported_trace.h"
#include "cli/job_change.h"
#include "cli/job_execution_traces.h"
#include "cli/job_traces.h"
#include "cli/measured_network.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "jobs/clocks/one_clock.h"
#include "jobs/record/job_file.h"
#include "protocol/shown_text.h"
#include "report/export/job_timeline.h"
#include "report/rendered_job.h"

namespace ridgeline::cli {

namespace {

using jobs::Job;

struct JobRequest {
  std::vector<std::string> files;
  int lines_of = -1;  ///< a rank; -1: the first
  std::vector<std::string> changes;
  std::string network;  ///< a file; empty: none
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

/// Files of jobs, or traces of torch.profiler. What is wrong is written to stderr.
base::Result<Job, ExitCode> read_or_report(const std::vector<std::string>& files) {
  if (std::ranges::any_of(files, looks_like_trace)) {
    return job_of_traces(files);
  }
  auto job = app::read_jobs(files);
  if (job) {
    return std::move(*job);
  }
  print_error(job.error().message());
  return ExitCode{kExitUsage};
}

base::Result<jobs::RecordedJob> graph_of(const Job& job, const jobs::OneClock& aligned, const std::string& network) {
  const auto recordings = app::recordings_of(job);
  return recordings ? job_graph(job, aligned.records, *recordings, network)
                    : base::Result<jobs::RecordedJob>(recordings.error());
}

/// The replay of the job and of its changes; a warning where it has none. An error where changes were asked for.
std::optional<base::Error> add_replay(const Job& job, const jobs::OneClock& aligned, const JobRequest& request,
                                      analysis::JobReport& shown) {
  const auto graph = graph_of(job, aligned, request.network);
  const auto replayed = graph ? app::replayed(*graph) : base::Result<app::Replayed>(graph.error());
  if (!replayed) {
    if (!(request.changes.empty() && request.network.empty())) {
      return replayed.error();
    }
    shown.warnings.push_back(app::not_replayed(replayed.error()));
    return std::nullopt;
  }
  auto changes = changed_steps(*graph, request.changes);
  if (!changes) {
    return changes.error();
  }
  app::add_replay(shown, *replayed);
  shown.changes = std::move(*changes);
  return std::nullopt;
}

int show(const JobRequest& request) {
  const std::string& format = request.output->format;
  if (std::ranges::any_of(request.files, is_execution_trace)) {
    if (!request.network.empty()) {
      print_error("--network needs the file of a job: execution traces do not say how many ranks a collective has");
      return kExitUsage;
    }
    return show_execution_traces(request.files, request.changes, *request.output);
  }
  if (!request.changes.empty() && (format == "perfetto" || format == "chakra")) {
    print_error("--change needs --format text or json: traces show what was recorded");
    return kExitUsage;
  }
  if (format == "chakra" && request.output->file.empty()) {
    print_error("--format chakra needs --output: a folder that is not there yet, for a file of each rank");
    return kExitUsage;
  }
  auto job = read_or_report(request.files);
  if (!job) {
    return job.error().value;
  }
  const int wanted = request.lines_of < 0 ? job->ranks.front().record.rank : request.lines_of;
  const auto rank_of = [](const jobs::JobRank& rank) { return rank.record.rank; };
  const auto lines_of = std::ranges::find(job->ranks, wanted, rank_of) - job->ranks.begin();
  if (lines_of == std::ssize(job->ranks)) {
    print_error(fmt::format("no file has a record of rank {}", wanted));
    return kExitUsage;
  }
  const jobs::OneClock aligned = app::aligned(*job);
  if (format == "perfetto") {
    for (const std::string& text : report::shown_warnings(job->warnings, request.output->warnings)) {
      print_error(text);
    }
    return write_out(report::job_timeline(aligned.records, job->scope, job->profiler), *request.output);
  }
  if (format == "chakra") {
    return write_execution_traces(*job, aligned.records, request.output->file);
  }
  analysis::JobReport shown = app::job_report(*job, aligned);
  if (const auto problem = add_replay(*job, aligned, request, shown)) {
    print_error(problem->message());
    return kExitUsage;
  }
  shown.slower = app::slower_rank(shown, aligned);
  if (format == "html") {
    return write_out(report::html_job_report(shown), *request.output);
  }
  return write_out(format == "json"
                       ? report::json_job_report(shown)
                       : report::text_job_report(shown, static_cast<std::size_t>(lines_of), request.output->warnings),
                   *request.output);
}

}  // namespace

void add_job_show_command(CLI::App& job, int& exit_code) {
  auto request = std::make_shared<JobRequest>();
  CLI::App* command = job.add_subcommand(
      "show", "Show what the ranks of a recorded job waited for, with the clocks of its machines aligned.");
  command
      ->add_option("FILES", request->files,
                   "Written by `ridgeline profile --job`: one, or one of each machine; or of each rank a trace of "
                   "torch.profiler, or "
                   "an execution trace of Chakra")
      ->required();
  command->add_option("--lines-of", request->lines_of, "The rank whose lines are shown; default: the first")
      ->check(number_in(0, 1'000'000));
  command
      ->add_option("--change", request->changes,
                   "Also replay the job with this change: " + job_change_names() +
                       "; repeated: each change alone, then all together")
      ->allow_extra_args(false);
  add_network_option(*command, request->network);
  add_output_options(*command, request->output, {"text", "json", "html", "perfetto", "chakra"});
  add_warnings_option(*command, request->output);
  command->footer(
      "Examples:\n"
      "  ridgeline job show mine.ridgeline-job --change faster:train.py:40=2\n"
      "  ridgeline job show node1.ridgeline-job node2.ridgeline-job --format perfetto --output ranks.json");
  command->callback([request, &exit_code] { exit_code = show(*request); });
}

}  // namespace ridgeline::cli
