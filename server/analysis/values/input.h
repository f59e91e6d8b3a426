// What a run produced: the material of a profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/profile.h"
#include "protocol/recording.h"
#include "protocol/script_run.h"

namespace ridgeline::analysis {

/// Which source files are the user's: those under the project root that no environment holds. And whose lines have
/// figures: the user's, and those of `code`.
struct SourceScope {
  std::string project_root;                    ///< absolute, without a trailing '/'
  std::vector<std::string> environment_roots;  ///< virtual environments, the standard library, site-packages
  std::vector<CodePackage> code{};
};

/// One batch size, as the worker measured it.
struct BatchRun {
  int batch_size = 0;
  int warmup_iterations = 0;
  std::vector<double> times_ns;  ///< bare iterations
  recording::Recording recording;
  int per_round = 1;   ///< bare iterations in each round of timing
  bool check = false;  ///< not used for the models, to see how far off they are
};

/// A step that ran out of memory, recorded up to the error; or that was not run because it would; or one of a script,
/// after the recording.
struct FailedStep {
  int batch_size = 0;
  std::optional<std::uint64_t> asked_bytes{};
  std::optional<std::uint64_t> free_bytes{};
  std::uint64_t reserved_bytes = 0;                 ///< 0: there is no caching allocator
  std::optional<recording::Recording> recording{};  ///< absent: it was not recorded
  std::optional<Location> late_location{};          ///< of a script's after the recording; without a file if not known
  std::uint64_t allocated_bytes = 0;                ///< of that one, by its allocator; 0: not known
};

/// A batch size that was only timed.
struct TimedRun {
  int batch_size = 0;
  std::vector<double> times_ns;  ///< bare iterations
  int per_round = 1;
};

/// A parameter that gets gradients, and that nothing changes.
struct UnusedGradient {
  std::string parameter;  ///< as the recording names it
  std::uint64_t bytes = 0;
};

/// The recording that the figures of a profile are of, for those who show it instant by instant.
struct RecordedRun {
  BatchRun run;
  SourceScope scope;
};

/// What is known of the arguments of a recording's operations.
struct RecordedKeys {
  std::vector<std::string> keys;  ///< as ridgeline_runner/measure/operation_key.py writes them, each once
  std::vector<int> of_op;         ///< of `keys`, by operation of the recording; -1: not known
};

struct RunInput {
  std::string entry_path;
  SourceScope scope;
  Environment environment;
  std::uint64_t capacity_bytes = 0;
  std::optional<AllocatorSetup> allocator;  ///< of the device that the recordings are of
  int batch_size = 0;                       ///< the user's; one of `runs`
  bool batch_size_known = true;             ///< false: it is 1, for one iteration, and there is one run
  bool peak_known = true;                   ///< false: the recording does not show everything that was alive
  std::vector<BatchRun> runs;
  std::vector<TimedRun> timed{};  ///< other batch sizes
  std::vector<Skipped> skipped;
  std::optional<FailedStep> out_of_memory{};  ///< of the batch size that the user has
  std::vector<UnusedGradient> unused_gradients;
  std::optional<protocol::ScriptRun> script{};  ///< of a script that ran as it is
  std::optional<protocol::StepEnergy> energy{};
  std::optional<protocol::BatchLength> length{};
  std::optional<RecordedKeys> recorded_keys{};  ///< of an imported trace with shapes
  std::optional<double> co2_g_per_kwh{};        ///< that the user gave
  std::vector<std::string> warnings;            ///< what the worker's side knows that a reader of the figures must
};

}  // namespace ridgeline::analysis
