// What a process of a job sends of a script that ran as it is, beside its figures: where its training steps end, what
// lies between them, and how it loads its data. Untrusted, as all that the user's processes send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "protocol/step_end.h"

namespace ridgeline::protocol {

/// What ends a training step.
struct StepBoundary {
  StepEnd end = StepEnd::kOptimizer;
  bool requested = false;       ///< whether the user named it; otherwise it was detected
  std::vector<int> optimizers;  ///< that step in turn in one training step, from 1; empty: unknown
  std::string file;             ///< absolute path where the boundary is a line; else empty
  int line = 0;                 ///< of that file, from 1; else 0
};

/// What happened between steps, such as an evaluation.
struct ScriptPhase {
  std::string name;
  std::uint64_t count = 0;
  double ns = 0;  ///< of all its occurrences together
};

struct LoadedBatches {
  std::uint64_t batches = 0;
  double ns = 0;  ///< spent loading them, by workers or by the training process
};

/// The data loaders of training. The first members are sums over the timed steps.
struct LoaderUse {
  std::uint64_t steps = 0;
  double steps_ns = 0;
  double wait_ns = 0;  ///< in which the training process waited for batches, or loaded them itself
  std::uint64_t batches = 0;
  int workers = 0;  ///< of the loader that gave the last batch
  /// Batches that workers loaded while steps were timed, including steps that were left out; `ns` is 0 where the
  /// workers are not observed.
  LoadedBatches by_workers;
  double worker_wall_ns = 0;   ///< the wall time of that; 0 where the workers are not observed
  int threads = 0;             ///< threads that the step itself uses
  int processors = 0;          ///< processors that the process may use
  LoadedBatches first_pass;    ///< batches of the first pass over the data of each loader
  LoadedBatches later_passes;  ///< batches of all other passes
};

/// Samples per training step, over all steps that were seen.
struct StepSamples {
  int batch_size = 0;       ///< of most steps, else their mean; 0: unknown
  std::uint64_t steps = 0;  ///< steps that were seen; 0: nothing is known
  double mean = 0;
  int least = 0;
  int most = 0;
  std::string doubt;  ///< why the number is uncertain, as the end of a sentence; mostly empty
};

/// The time from the first to the last timed step, with the steps that were left out and what lies between steps.
struct WholeTime {
  std::uint64_t steps = 0;
  double ns = 0;
  double samples = 0;              ///< 0: unknown
  double usual_ns = 0;             ///< of the steps that contain nothing else
  double usual_samples = 0;        ///< of the same steps
  bool is_whole = false;           ///< what lies between steps was seen often enough, or there is nothing
  std::vector<ScriptPhase> parts;  ///< of `ns`: what is no part of a step
};

/// Steps that were neither recorded nor timed.
struct LeftOutSteps {
  std::string reason;
  std::uint64_t count = 0;
  double ns = 0;
  std::uint64_t peak_bytes = 0;  ///< the largest peak of those whose memory was observed; 0: of none
};

/// The step with most memory of those whose memory was observed: before the recording, and left out of it.
struct LargestStep {
  std::uint64_t steps = 0;  ///< steps whose memory was observed
  std::uint64_t bytes = 0;
  int samples = 0;     ///< 0: unknown
  std::string reason;  ///< why it was left out; empty: it was not
};

struct ScriptRun {
  StepBoundary boundary;
  StepSamples samples;
  std::optional<WholeTime> whole{};  ///< absent: no step was timed
  std::vector<LeftOutSteps> left_out{};
  LargestStep largest;
  std::vector<ScriptPhase> phases;
  std::optional<LoaderUse> loading;  ///< absent: no data loader of torch gave a batch
  std::vector<int> loader_sizes;     ///< batch sizes of the step's data loaders, as they were constructed; each once
  std::string sizes_obstacle;        ///< why they cannot be given others, as the end of a sentence; mostly empty
};

inline constexpr std::size_t kMaxOptimizerSteps = 1024;  ///< of one training step
inline constexpr std::size_t kMaxScriptItems = 64;       ///< phases, loader sizes

/// Throws std::exception where a member is missing or invalid.
ScriptRun script_run_from(const nlohmann::json& value);

}  // namespace ridgeline::protocol
