// How a recorded job would be fastest, as replays of it say; nothing of it was run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/job_report.h"

namespace ridgeline::analysis {

/// Modules whose forward runs again in backward, so that what it keeps need not stay.
struct RecomputedModules {
  std::string type;                  ///< their class; empty: none
  std::size_t of = 0;                ///< how many of that class the model has
  std::vector<std::string> modules;  ///< dotted names
};

/// A change that the user wrote.
struct OwnChange {
  std::string title;
  std::string takes;  ///< may be empty
};

/// What could be changed, and how long a step would then take.
struct StrategyStep {
  std::optional<std::uint64_t> bucket_bytes{};  ///< absent: as recorded
  double compression = 1;                       ///< factor by which buckets have fewer bytes
  int accumulate = 1;                           ///< micro-batches before gradients are sent
  RecomputedModules recompute{};
  bool fuse = false;  ///< pointwise operations that follow each other
  int sharding = 0;   ///< stage of ZeRO; 0: none
  std::vector<OwnChange> own{};
  Measured step_ms{};            ///< for each micro-batch of each rank
  Measured speed_up{};           ///< of the job as it is
  std::uint64_t peak_bytes = 0;  ///< of the rank that has most
};

/// An edit of the user's code.
struct StrategyEdit {
  std::string path;  ///< absolute; empty: for the user to write
  std::uint32_t line = 0;
  std::string before;  ///< the line as it is
  std::string after;   ///< the lines in its place, or what to do
};

struct OptimizedJob {
  std::string command;
  JobReplay replay;
  std::optional<std::uint64_t> memory_bytes{};  ///< that a rank may have
  std::vector<StrategyStep> strategies;         ///< that were replayed and fit; the fastest first. Empty: none fits
  std::uint64_t peak_bytes = 0;                 ///< of the job as it is, as StrategyStep has it
  std::size_t space = 0;                        ///< strategies that were searched
  bool is_complete = true;                      ///< false: the search was ended before
  double seconds = 0;                           ///< it took
  std::vector<StrategyEdit> edits;              ///< of the best
  std::vector<std::string> notes;               ///< sentences: what is not known or not in it
  std::vector<std::string> warnings;
};

/// Whether the fastest strategy is worth an edit: it is faster as figures are shown, to hundredths, or the job as it is
/// does not fit.
inline bool pays(const OptimizedJob& job) {
  constexpr double kRounding = 0.005;
  const bool does_not_fit = job.memory_bytes.has_value() && job.peak_bytes > *job.memory_bytes;
  return !job.strategies.empty() && (does_not_fit || job.strategies.front().speed_up.value >= 1 + kRounding);
}

}  // namespace ridgeline::analysis
