// What training on several ranks would take, predicted from the step of one process; no rank was run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// Gradients that are reduced together. Times are ms from the start of the iteration.
struct PredictedBucket {
  std::uint64_t bytes = 0;
  std::size_t gradients = 0;
  std::string first;    ///< parameter whose gradient is ready first
  std::string last;     ///< likewise last
  Location line{};      ///< that the last gradient is of; empty: none of the user's
  double ready_ms = 0;  ///< all of its gradients
  double start_ms = 0;  ///< of its all-reduce
  double end_ms = 0;
  double exposed_ms = 0;  ///< while the ranks waited for it
};

/// One way to train.
struct PredictedTraining {
  std::optional<std::uint64_t> bucket_bytes{};  ///< absent: DistributedDataParallel's own sizes
  bool overlap = true;
  int sharding = 0;          ///< ZeRO's stage: 1 the optimizer's state, 2 also gradients, 3 also weights (FSDP)
  Measured step_ms{};        ///< of every rank
  double samples_per_s = 0;  ///< of all ranks
  double efficiency = 0;     ///< samples per second over those of as many single processes
  double compute_ms = 0;     ///< the step of the slowest rank of a machine, were nothing sent
  double ddp_ms =
      0;  ///< what DistributedDataParallel takes of the host itself; from stage 2 of ZeRO on, copies to and from units
  double communication_ms = 0;  ///< of all collectives, hidden or not
  double exposed_ms = 0;        ///< of these, while nothing is computed
  double processor_ms = 0;      ///< that communication takes of the cores that compute
  double buffers_ms = 0;        ///< the broadcast of buffers before forward; part of communication_ms and exposed_ms
  double gathers_ms = 0;        ///< of weights, hidden or not; part of communication_ms
  std::optional<std::uint64_t> peak_bytes{};        ///< of a rank's allocator: the most that it may be
  std::optional<std::uint64_t> least_peak_bytes{};  ///< with peak_bytes: the least that it may be
  std::vector<PredictedBucket> buckets;
};

/// Modules that follow each other, on a rank of their own.
struct PredictedStage {
  std::string first;  ///< module, its path in the model
  std::string last;
  double forward_ms = 0;           ///< of a micro-batch
  double backward_ms = 0;          ///< likewise
  std::uint64_t weight_bytes = 0;  ///< that have gradients
  std::uint64_t sends_bytes = 0;   ///< to the next stage, and back; of a micro-batch
};

/// Training in a pipeline. The profile's batch is one micro-batch.
struct PredictedPipeline {
  int micro_batches = 0;
  bool forward_first = false;  ///< GPipe: all forward, then all backward; else 1F1B
  Measured step_ms{};
  double samples_per_s = 0;
  double efficiency = 0;  ///< samples per second over those of as many single processes
  double idle = 0;        ///< of the ranks' time, that they neither compute nor send
  std::vector<PredictedStage> stages;
};

struct JobPrediction {
  std::string entry_path;  ///< absolute
  std::string project_root;
  std::string cluster;  ///< its file, as it was named
  std::int64_t ranks = 0;
  std::int64_t machines = 0;
  int batch_size = 0;  ///< of a rank; 0: not known
  Measured step_ms{};  ///< of one process alone
  std::optional<std::uint64_t> peak_bytes{};
  std::string device;
  bool collectives_measured = false;  ///< by all-reduces in the file; else by its links
  std::optional<double> slow_down{};  ///< measured: by the copies of the step on a machine, that ran at once
  std::uint64_t gradient_bytes = 0;
  std::vector<PredictedTraining> trainings;
  std::vector<PredictedPipeline> pipelines;
  double seconds = 0;  ///< that the simulation of these took
  std::vector<std::string> not_modelled;
  std::vector<std::string> warnings;
};

}  // namespace ridgeline::analysis
