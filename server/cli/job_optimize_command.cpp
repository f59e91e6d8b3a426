#include "cli/job_optimize_command.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/jobs/job_files.h"
#include "app/optimize_job.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/interrupts.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "report/rendered_best_strategy.h"
#include "step/changes/change_table.h"

namespace ridgeline::cli {

namespace {

struct OptimizeRequest {
  std::vector<std::string> files;
  app::OptimizeQuestion question;
  std::shared_ptr<Output> output = std::make_shared<Output>();
};

int optimize(const OptimizeRequest& request) {
  const auto job = app::read_jobs(request.files);
  if (!job) {
    return fail(job.error(), kExitUsage);
  }
  Interrupts interrupts;
  ProgressLine line;
  const auto answer = app::optimize_job(*job, request.question, [&](std::size_t done, std::size_t most) {
    const protocol::Progress progress{"optimize", static_cast<double>(done) / static_cast<double>(most),
                                      fmt::format("Replaying the job with {} strategies", most)};
    line.show(progress, progress);
    return !interrupts.came();
  });
  line.clear();
  if (!answer) {
    return fail(answer.error(), kExitUsage);
  }
  const int code =
      write_out(request.output->format == "json" ? report::json_optimized_job(*answer)
                                                 : report::text_optimized_job(*answer, request.output->warnings),
                *request.output);
  if (code != kExitOk) {
    return code;
  }
  return interrupts.came() ? kExitCancelled : answer->strategies.empty() ? kExitOverBudget : kExitOk;
}

}  // namespace

void add_job_optimize_command(CLI::App& job, int& exit_code) {
  auto request = std::make_shared<OptimizeRequest>();
  app::OptimizeQuestion& question = request->question;
  CLI::App* command = job.add_subcommand(
      "optimize", "Search for the fastest strategy of a recorded job by simulation; the training code is not run.");
  command->add_option("FILES", request->files, "A job from `ridgeline profile --job`, or one for each machine")
      ->required();
  command
      ->add_option("--memory", question.memory_bytes,
                   "Consider only strategies that need at most this much memory on each rank, such as 16GiB")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command->add_option("--seconds", question.seconds, "Time limit for the search, in seconds")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"min", 60}}))
      ->check(number_in(0.1, 86400))
      ->capture_default_str();
  add_change_option(*command, question.changes, step::Subject::kSearch,
                    "Also search with this change; a bucket-size replaces the sizes that are searched by default");
  command->add_option("--change-file", question.change_files,
                      "Also search with a change of your own, as JSON or as Python, which is run: "
                      "docs/user/change-files.md; may be repeated");
  command->add_option("--python", question.python, "Interpreter for a --change-file in Python")
      ->default_str("detected");
  add_network_option(*command, question.network);
  add_output_options(*command, request->output);
  add_warnings_option(*command, request->output);
  command->footer(
      "Examples:\n"
      "  ridgeline job optimize mine.ridgeline-job --network cluster.toml --memory 16GiB\n"
      "  ridgeline job optimize mine.ridgeline-job --change accumulate:2 --change zero:1 --format json");
  command->callback([request, &exit_code] { exit_code = optimize(*request); });
}

}  // namespace ridgeline::cli
