#include "app/predict_on_cluster.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "app/profiling/what_if_base.h"
#include "jobs/predict/cores_of_ranks.h"
#include "jobs/predict/predict_job.h"
#include "worker/machine.h"

namespace ridgeline::app {

namespace {

using PredictionOfJob = base::Result<analysis::JobPrediction>;

constexpr double kCopySeconds = 4;

PredictionOfJob predicted(const ProfileRun& run, const protocol::Replica& replica,
                          const JobPredictionQuestion& question) {
  const analysis::Profile& profile = run.profile;
  const WhatIfBase base = what_if_base(run);
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
  auto job =
      jobs::predict_job(process, question.cluster, question.trainings.data_parallel, question.trainings.pipelines);
  if (!job) {
    return base::error("Training on " + question.cluster_file + " cannot be predicted: " + job.error().message() + ".");
  }
  job->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  job->entry_path = profile.entry_path;
  job->project_root = profile.project_root;
  job->cluster = question.cluster_file;
  job->device = profile.environment.device_name;
  job->warnings.insert(job->warnings.begin(), profile.warnings.begin(), profile.warnings.end());
  return job;
}

}  // namespace

base::Task<base::Result<PredictionOfJob, RunFailure>> predict_job(ExperimentRunner& runner, const ProfileRun& run,
                                                                  JobPredictionQuestion question) {
  const bool on_host = run.profile.environment.device == "cpu";
  const int copies = on_host ? std::min(jobs::ranks_of_a_machine(question.cluster), protocol::kMaxCopies) : 1;
  auto running = runner.run({.kind = protocol::Experiment::Kind::kReplica,
                             .seconds = std::min(kCopySeconds, question.seconds),
                             .copies = copies});
  const ExperimentOutcome findings = co_await std::move(running);
  if (!findings) {
    co_return findings.error();
  }
  if (!findings->replica.has_value()) {
    co_return PredictionOfJob(base::error("The step's gradients could not be found."));
  }
  auto answer = std::make_shared<std::optional<PredictionOfJob>>();
  auto predicting = runner.off_loop([&run, answer, asked = std::move(question), replica = *findings->replica] {
    answer->emplace(predicted(run, replica, asked));
  });
  co_await std::move(predicting);
  co_return std::move(**answer);
}

}  // namespace ridgeline::app
