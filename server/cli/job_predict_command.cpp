#include "cli/job_predict_command.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/jobs/described_cluster.h"
#include "app/predict_on_cluster.h"
#include "app/traces/import_file.h"
#include "cli/entry_runs.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/wait_for.h"
#include "report/rendered_job_prediction.h"

namespace ridgeline::cli {

namespace {

struct JobQuestion {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  std::string cluster;
  std::vector<std::string> changes;
};

int refuse(const std::string& message) { return fail(message, kExitUsage); }

/// Profiles the entry, and predicts the job. The exit code.
int predict_job_of(const JobQuestion& question) {
  const app::ProfileRequest& request = *question.request;
  if (app::looks_like_trace(request.entry)) {
    return refuse("A trace does not tell when its gradients are ready: name an entry point.");
  }
  auto trainings = jobs::requested_trainings(question.changes);
  if (!trainings) {
    return refuse(trainings.error().message());
  }
  auto cluster = app::read_cluster(question.cluster);
  if (!cluster) {
    return refuse(cluster.error().message());
  }
  const auto opened = open_entry_runs(request);
  if (!opened) {
    return opened.error();
  }
  EntryRuns& runs = **opened;
  const auto made = profile_now(runs);
  if (!made) {
    return made.error();
  }
  const auto job = wait_for(runs.target(), app::predict_job(runs, *made,
                                                            {std::move(*cluster), question.cluster,
                                                             std::move(*trainings), request.time_budget_seconds}));
  if (!job) {
    return job.error();
  }
  if (!*job) {
    return refuse(job->error().message());
  }
  const Output& output = *question.output;
  return write_out(output.format == "json" ? report::json_job_prediction(**job)
                                           : report::text_job_prediction(**job, text_options(output)),
                   output);
}

}  // namespace

void add_job_predict_command(CLI::App& job, int& exit_code) {
  auto question = std::make_shared<JobQuestion>();
  CLI::App* command =
      job.add_subcommand("predict", "Predict the steps and memory of training on a cluster, from one process here.");
  command
      ->add_option("--cluster", question->cluster,
                   "The file that describes the cluster (docs/user/job-predict.md; `ridgeline job network` writes one)")
      ->required();
  add_change_option(
      *command, question->changes, step::Subject::kCluster,
      "Also predict with this change; each bucket-size is predicted alone and together with every other change");
  add_profile_options(*command, question->request);
  add_output_options(*command, question->output);
  add_warnings_option(*command, question->output);
  command->footer(
      "Examples:\n"
      "  ridgeline job predict entry.py --cluster cluster.toml\n"
      "  ridgeline job predict entry.py --cluster cluster.toml --change zero:2 --change pipeline:8");
  command->callback([question, &exit_code] { exit_code = predict_job_of(*question); });
}

}  // namespace ridgeline::cli
