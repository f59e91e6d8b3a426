#include "cli/job_predict_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/profiling/what_if_base.h"
#include "cli/described_cluster.h"
#include "cli/exit_codes.h"
#include "cli/experiments.h"
#include "cli/imported_trace.h"
#include "cli/options.h"
#include "cli/profile_now.h"
#include "cli/terminal.h"
#include "jobs/network/cluster_file.h"
#include "jobs/predict/cores_of_ranks.h"
#include "jobs/predict/predict_job.h"
#include "report/rendered_job_prediction.h"
#include "worker/machine.h"

namespace ridgeline::cli {

namespace {

constexpr double kCopySeconds = 4;

struct ClusterOptions {
  std::string file;
  std::vector<std::uint64_t> bucket_bytes;  ///< each a prediction; empty: DistributedDataParallel's own sizes
  bool no_overlap = false;
  std::vector<int> zero;      ///< stages of sharding, 1 to 3, besides none
  std::vector<int> pipeline;  ///< counts of micro-batches: also a pipeline of as many stages as ranks with each
};

struct JobQuestion {
  std::shared_ptr<app::ProfileRequest> request = std::make_shared<app::ProfileRequest>();
  std::shared_ptr<Output> output = std::make_shared<Output>();
  ClusterOptions cluster;
};

std::vector<jobs::TrainingRequest> trainings_of(const ClusterOptions& options) {
  std::vector<jobs::TrainingRequest> requests;
  for (const std::uint64_t bytes : options.bucket_bytes) {
    requests.push_back({bytes, true});
  }
  if (requests.empty()) {
    requests.emplace_back();
  }
  if (options.no_overlap) {
    for (std::size_t i = 0, count = requests.size(); i < count; ++i) {
      requests.push_back({requests[i].bucket_bytes, false});
    }
  }
  for (std::size_t i = 0, count = options.zero.empty() ? 0 : requests.size(); i < count; ++i) {
    for (const int stage : options.zero) {
      if (requests[i].overlap) {
        requests.push_back({requests[i].bucket_bytes, true, stage});
      }
    }
  }
  return requests;
}

base::Result<analysis::JobPrediction> predict(const app::ProfileRun& run, const protocol::Replica& replica,
                                              const jobs::Cluster& described, const ClusterOptions& options) {
  const analysis::Profile& profile = run.profile;
  const app::WhatIfBase base = app::what_if_base(run);
  const jobs::OneProcess process{base.graph,
                                 replica,
                                 profile.iteration.ms,
                                 base.peak_known ? std::optional(profile.peak_bytes) : std::nullopt,
                                 profile.batch_size_known ? profile.batch_size : 0,
                                 std::max(1, profile.environment.threads),
                                 base.on_host,
                                 profile.memory_over_time.has_value() ? &*profile.memory_over_time : nullptr,
                                 worker::processor_count()};
  const auto begin = std::chrono::steady_clock::now();
  std::vector<jobs::PipelineRequest> pipelines;
  for (const int micro_batches : options.pipeline) {
    pipelines.push_back({micro_batches});
  }
  auto job = jobs::predict_job(process, described, trainings_of(options), pipelines);
  if (!job) {
    return job;
  }
  job->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  job->entry_path = profile.entry_path;
  job->project_root = profile.project_root;
  job->cluster = options.file;
  job->device = profile.environment.device_name;
  job->warnings.insert(job->warnings.begin(), profile.warnings.begin(), profile.warnings.end());
  return job;
}

/// Profiles the entry, runs the step once more for its gradients and in copies, and predicts. The exit code.
int predict_job_of(const app::ProfileRequest& request, const ClusterOptions& options, const Output& output) {
  if (looks_like_trace(request.entry)) {
    print_error("A trace does not tell when its gradients are ready: name an entry point.");
    return kExitUsage;
  }
  const auto described = read_cluster(options.file);
  if (!described) {
    print_error(described.error().message());
    return kExitUsage;
  }
  const auto target = find_target_or_report(request);
  if (!target) {
    return target.error().value;
  }
  EntryRuns runs(request, *target);
  const auto made = profile_now(runs);
  if (!made) {
    return made.error().value;
  }
  const bool on_host = made->profile.environment.device == "cpu";
  const int copies = on_host ? std::min(jobs::ranks_of_a_machine(*described), protocol::kMaxCopies) : 1;
  auto findings = run_experiment(runs, {.kind = protocol::Experiment::Kind::kReplica,
                                        .seconds = std::min(kCopySeconds, request.time_budget_seconds),
                                        .copies = copies});
  if (!findings) {
    return findings.error().value;
  }
  if (!findings->replica.has_value()) {
    print_error("The step's gradients could not be found.");
    return kExitEntryFailed;
  }
  const auto job = predict(*made, *findings->replica, *described, options);
  if (!job) {
    print_error("Training on " + options.file + " cannot be predicted: " + job.error().message() + ".");
    return kExitUsage;
  }
  return write_out(output.format == "json" ? report::json_job_prediction(*job)
                                           : report::text_job_prediction(*job, text_options(output)),
                   output);
}

}  // namespace

void add_job_predict_command(CLI::App& job, int& exit_code) {
  auto question = std::make_shared<JobQuestion>();
  CLI::App* command =
      job.add_subcommand("predict", "Predict the steps and memory of training on a cluster, from one process here.");
  ClusterOptions& cluster = question->cluster;
  command
      ->add_option("--cluster", cluster.file,
                   "The file that describes the cluster (docs/user/job-predict.md; `ridgeline job network` writes one)")
      ->required();
  command
      ->add_option("--bucket-size", cluster.bucket_bytes,
                   "bucket_cap_mb of DistributedDataParallel, such as 25MiB; may be repeated")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  command->add_flag("--no-overlap", cluster.no_overlap,
                    "Also predict without overlap: all-reduces begin after backward");
  command->add_option("--zero", cluster.zero, "Also these stages of ZeRO, such as 1,2,3; 3 is what FSDP does")
      ->delimiter(',')
      ->check(CLI::Range(1, 3));
  command
      ->add_option("--pipeline", cluster.pipeline,
                   "Also a pipeline with a stage on each rank and this many micro-batches, such as 4,8; the profile's "
                   "batch is one micro-batch")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  add_profile_options(*command, question->request);
  add_output_options(*command, question->output);
  add_warnings_option(*command, question->output);
  command->footer(
      "Examples:\n"
      "  ridgeline job predict entry.py --cluster cluster.toml\n"
      "  ridgeline job predict entry.py --cluster cluster.toml --zero 1,2,3 --pipeline 4,8");
  command->callback(
      [question, &exit_code] { exit_code = predict_job_of(*question->request, question->cluster, *question->output); });
}

}  // namespace ridgeline::cli
