// What a profile says of a training script that ran as it is, beside the figures of its step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/location.h"
#include "protocol/step_end.h"

namespace ridgeline::analysis {

/// What ends a training step.
struct StepRule {
  protocol::StepEnd end = protocol::StepEnd::kOptimizer;
  bool requested = false;       ///< by the user; else found
  std::vector<int> optimizers;  ///< that step in turn in one training step, from 1; empty: unknown
  Location line;                ///< of kLine; else without a file
};

/// What happened between steps and is no part of them, such as an evaluation.
struct BetweenSteps {
  std::string name;
  std::uint64_t count = 0;
  double ms = 0;  ///< all together
};

/// Part of a step: a shorter wait for data is not worth more workers.
inline constexpr double kHardlyWaits = 0.05;

/// How the data of the timed steps were loaded.
struct DataLoading {
  int workers = 0;
  double batches_per_step = 0;
  double wait_ms = 0;                  ///< mean of a step: waiting for batches or, without workers, loading them
  double wait_share = 0;               ///< of the timed steps, 0 to 1
  std::optional<double> batch_ms;      ///< that one worker, or the training process, takes to load a batch; mean
  std::optional<double> workers_busy;  ///< part of the time in which workers were loading, 0 to 1
  /// Workers that would load as fast as the step without its waiting needs; absent where the step hardly waits, where
  /// there are no workers or they are not what it waits for, and where the processors do not suffice for both.
  std::optional<int> workers_needed;
  std::optional<double> first_pass_batch_ms;    ///< mean over the first pass of each loader over its data
  std::optional<double> later_passes_batch_ms;  ///< likewise; absent until a second pass has begun
};

/// What communication costs at a line. Means of the recorded steps, by the clock: with the cost of recording.
struct CommunicationLine {
  Location line;                     ///< without a file: no user line calls it
  double exposed_ms = 0;             ///< the thread of the step waits for it
  std::optional<double> waiting_ms;  ///< of exposed_ms, until the last rank had made the same call; absent: not known
  double hidden_ms = 0;              ///< it runs, and the thread does not wait
};

/// Communication of one rank of a job, in milliseconds per step.
struct Communication {
  int rank = 0;
  int steps = 0;       ///< recorded by all ranks
  double step_ms = 0;  ///< of them
  double exposed_ms = 0;
  std::optional<double> waiting_ms;
  double hidden_ms = 0;
  std::vector<CommunicationLine> lines;  ///< most exposed time first
};

/// How many samples the steps train, of all that were seen.
struct StepSamples {
  std::uint64_t steps = 0;
  double mean = 0;
  int least = 0;
  int most = 0;
  std::string doubt;  ///< why the number is uncertain, as the end of a sentence; mostly empty

  bool vary() const { return least != most; }
};

/// From the first to the last timed step, with what is left out of the iteration time.
struct WholeTime {
  std::uint64_t steps = 0;
  double ms = 0;
  std::optional<double> samples_per_second;  ///< absent: the samples are not known
  bool is_whole = false;                     ///< what lies between steps was seen often enough, or there is nothing
  std::vector<BetweenSteps> parts;           ///< of `ms`: what is no part of a step
};

/// Steps that were neither recorded nor timed.
struct LeftOutSteps {
  std::string reason;
  std::uint64_t count = 0;
  double ms = 0;                            ///< all together
  std::optional<std::uint64_t> peak_bytes;  ///< of them; absent where their memory was not observed
};

/// The step with most memory of those whose memory was observed: before the recording, and left out of it.
struct LargestStep {
  std::uint64_t steps = 0;  ///< that were observed
  std::uint64_t bytes = 0;
  std::optional<int> samples;  ///< absent: unknown
  std::string reason;          ///< why it was left out; empty: it was not
};

struct Script {
  StepRule step;
  std::optional<StepSamples> samples{};  ///< absent: unknown
  std::optional<WholeTime> whole{};      ///< absent: no step was timed
  std::vector<LeftOutSteps> left_out{};
  std::optional<LargestStep> largest{};  ///< absent: no memory was observed before the recording
  std::vector<BetweenSteps> between{};
  std::optional<DataLoading> loading{};          ///< absent: no data loader of torch gave a batch
  std::optional<Communication> communication{};  ///< absent: it is no rank of a job with process groups
};

}  // namespace ridgeline::analysis
