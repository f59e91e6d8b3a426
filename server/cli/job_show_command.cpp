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
#include "app/jobs/make_job_report.h"
#include "app/traces/execution_traces.h"
#include "app/traces/import_file.h"
#include "app/traces/job_of_traces.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "jobs/clocks/one_clock.h"
#include "jobs/record/job_file.h"
#include "report/export/job_timeline.h"
#include "report/rendered_job.h"

namespace ridgeline::cli {

namespace {

using jobs::Job;

struct JobRequest {
  std::vector<std::string> files;
  int lines_of = -1;  ///< a rank; -1: the first
  app::JobQuestion question;
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

/// Files of jobs, or traces of torch.profiler. What is wrong is written to stderr.
base::Result<Job, ExitCode> read_or_report(const std::vector<std::string>& files) {
  if (std::ranges::any_of(files, app::looks_like_trace)) {
    auto traced = app::job_of_traces(files);
    return traced ? base::Result<Job, ExitCode>(std::move(*traced)) : report_failure(traced.error());
  }
  auto job = app::read_jobs(files);
  return job ? base::Result<Job, ExitCode>(std::move(*job)) : fail(job.error(), kExitUsage);
}

int show_execution_traces(const JobRequest& request) {
  const Output& output = *request.output;
  if (!request.question.network.empty()) {
    return fail("--network needs the file of a job: execution traces do not say how many ranks a collective has",
                kExitUsage);
  }
  if (output.format != "text") {
    return fail("execution traces are shown with --format text: they do not have what the others need", kExitUsage);
  }
  const auto made = app::replay_traces(request.files, request.question.changes);
  return made ? write_out(report::text_replayed_traces(made->replay, made->ranks, made->steps, made->slowest,
                                                       made->warnings, output.warnings),
                          output)
              : fail(made.error(), kExitUsage);
}

/// For other viewers. The exit code.
int write_timelines(Job job, const Output& output) {
  const bool is_chakra = output.format == "chakra";
  const jobs::OneClock aligned = app::aligned(job);
  for (const std::string& text : is_chakra ? job.warnings : report::shown_warnings(job.warnings, output.warnings)) {
    print_error(text);
  }
  if (is_chakra) {
    const auto written = app::write_execution_traces(job, aligned.records, output.file);
    return written ? kExitOk : report_failure(written.error());
  }
  return write_out(report::job_timeline(aligned.records, job.scope, job.profiler), output);
}

int show(const JobRequest& request) {
  const std::string& format = request.output->format;
  if (std::ranges::any_of(request.files, app::is_execution_trace)) {
    return show_execution_traces(request);
  }
  if (!request.question.changes.empty() && (format == "perfetto" || format == "chakra")) {
    return fail("--change needs --format text or json: traces show what was recorded", kExitUsage);
  }
  if (format == "chakra" && request.output->file.empty()) {
    return fail("--format chakra needs --output: a folder that is not there yet, for a file of each rank", kExitUsage);
  }
  auto job = read_or_report(request.files);
  if (!job) {
    return job.error();
  }
  const int wanted = request.lines_of < 0 ? job->ranks.front().record.rank : request.lines_of;
  const auto rank_of = [](const jobs::JobRank& rank) { return rank.record.rank; };
  const auto lines_of = std::ranges::find(job->ranks, wanted, rank_of) - job->ranks.begin();
  if (lines_of == std::ssize(job->ranks)) {
    return fail(fmt::format("no file has a record of rank {}", wanted), kExitUsage);
  }
  if (format == "perfetto" || format == "chakra") {
    return write_timelines(std::move(*job), *request.output);
  }
  const auto shown = app::whole_report(std::move(*job), request.question);
  if (!shown) {
    return fail(shown.error(), kExitUsage);
  }
  if (format == "html") {
    return write_out(report::html_job_report(*shown), *request.output);
  }
  return write_out(format == "json"
                       ? report::json_job_report(*shown)
                       : report::text_job_report(*shown, static_cast<std::size_t>(lines_of), request.output->warnings),
                   *request.output);
}

}  // namespace

void add_job_show_command(CLI::App& job, int& exit_code) {
  auto request = std::make_shared<JobRequest>();
  CLI::App* command = job.add_subcommand(
      "show", "Show what the ranks of a recorded job waited for, with the clocks of its machines aligned.");
  command
      ->add_option("FILES", request->files,
                   "A job from `ridgeline profile --job`, or one for each machine; or a trace of torch.profiler or an "
                   "execution trace of Chakra for each rank")
      ->required();
  command->add_option("--lines-of", request->lines_of, "The rank whose lines are shown; default: the first")
      ->check(number_in(0, 1'000'000));
  add_change_option(*command, request->question.changes, step::Subject::kJob,
                    "Also replay the job with this change, each alone, then all together");
  add_network_option(*command, request->question.network);
  add_output_options(*command, request->output, {"text", "json", "html", "perfetto", "chakra"});
  add_warnings_option(*command, request->output);
  command->footer(
      "Examples:\n"
      "  ridgeline job show mine.ridgeline-job --change faster:train.py:40=2\n"
      "  ridgeline job show node1.ridgeline-job node2.ridgeline-job --format perfetto --output ranks.json");
  command->callback([request, &exit_code] { exit_code = show(*request); });
}

}  // namespace ridgeline::cli
