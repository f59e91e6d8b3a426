// What a recorded job of several ranks shows: who waits for whom, its replay, and what changes would bring.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// A clock beside that of the first machine, seconds.
struct MachineClock {
  std::string machine;
  double offset_s = 0;  ///< what was added
  double low_s = 0;     ///< the true offset is not less
  double high_s = 0;
  std::optional<double> drift_ppm;  ///< absent: the record is too short to tell
};

/// Means of a recorded step.
struct LineTime {
  Location line{};
  double ms = 0;
  double data_ms = 0;  ///< of those, in a data loader
};

/// From a time that all ranks share.
struct TimeSpan {
  double begin_ms = 0;
  double end_ms = 0;
};

/// What a rank did in the steps that all ranks have, by one clock. Spans are in order and apart, and lie in steps.
struct RankTimeline {
  int rank = 0;
  std::vector<TimeSpan> steps;
  std::vector<TimeSpan> waiting;  ///< of what is exposed, until the last rank had called, as far as that is known
  std::vector<TimeSpan> network;  ///< the rest of what is exposed
  std::vector<TimeSpan> hidden;   ///< communication that runs while the rank does something else
};

struct RecordedRankFigures {
  int rank = 0;
  std::string machine;
  std::optional<double> bare_step_ms;          ///< median of steps with nothing attached
  std::optional<double> data_loading_ms;       ///< of them; absent without a data loader of torch
  std::optional<Communication> communication;  ///< absent: no step is common to all ranks
  std::vector<LineTime> computing{};           ///< of the thread of the steps, longest first; empty: not replayed
};

/// Time of the critical path that belongs together. Of a rank, or of a collective, or of messages.
struct PathPart {
  std::optional<int> rank;
  Location line{};         ///< of a rank; empty: no line of the user's
  std::string collective;  ///< "all-reduce"; empty: none
  std::optional<int> bucket;
  double ms = 0;  ///< of a step
  double share = 0;
};

/// With the cost of recording. Medians over ranks and steps.
struct JobReplay {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  double recorded_ms = 0;
  double replayed_ms = 0;
  std::vector<PathPart> path;  ///< the longest first
};

/// Predicted: replayed with a change.
struct ChangedStep {
  std::string change;
  Measured step_ms{};
  Measured speed_up{};             ///< of the replay over it
  std::vector<std::string> notes;  ///< what is not known or left out, as sentences
};

/// A rank that others wait for, as its own work takes longer than theirs.
struct SlowerRank {
  int rank = 0;
  double slower = 0;             ///< over the median of the others: 0.18 is 18 % more
  bool lines_known = false;      ///< whether the lines of the ranks could be compared
  Location line{};               ///< with at least half of the difference; empty: no single line has
  bool is_data_loading = false;  ///< most of that line's difference is in the data loader
};

struct JobReport {
  std::string command;
  std::vector<RecordedRankFigures> ranks;
  std::vector<MachineClock> clocks;
  std::optional<JobReplay> replay;
  std::vector<ChangedStep> changes;  ///< as they were asked for; of several, all together last, named "all"
  std::vector<std::string> warnings;
  std::vector<std::int64_t> steps{};      ///< that all ranks recorded
  std::vector<RankTimeline> timelines{};  ///< of each rank; empty where no step is common
  std::optional<SlowerRank> slower{};     ///< absent: none is, as far as is known
  std::string profiler{};                 ///< whose cost is in the times; empty: that of recording
};

}  // namespace ridgeline::analysis
