#include "cli/what_if_cluster.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "app/profiling/what_if.h"
#include "cli/described_cluster.h"
#include "cli/exit_codes.h"
#include "cli/experiments.h"
#include "cli/profile_now.h"
#include "cli/terminal.h"
#include "jobs/network/cluster_file.h"
#include "jobs/predict/cores_of_ranks.h"
#include "jobs/predict/predict_job.h"
#include "report/job_prediction.h"
#include "worker/machine.h"

namespace ridgeline::cli {

namespace {

constexpr double kCopySeconds = 4;

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

}  // namespace

int what_if_cluster(const app::ProfileRequest& request, const ClusterOptions& options, const Output& output) {
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

}  // namespace ridgeline::cli
