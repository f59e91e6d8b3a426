// How the ranks of a job spend a step, and which one the others wait for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/values/location.h"
#include "jobs/record/spans.h"
#include "protocol/communication.h"

namespace ridgeline::jobs {

/// Means over the recorded steps, in milliseconds by the clock: with the cost of recording.
struct RankFigures {
  int rank = 0;
  double step_ms = 0;
  double exposed_ms = 0;  ///< the thread of the step waits for a collective
  double hidden_ms = 0;   ///< collectives run while it does not wait
  /// The part of exposed_ms until the last rank had called the collective; absent where ranks are on several machines,
  /// whose clocks differ, or not all ranks of a group were recorded.
  std::optional<double> waiting_ms;

  double own_ms() const { return step_ms - exposed_ms; }  ///< what the rank itself does
};

/// A rank for each record, over the steps that all of them have. Empty where there is none.
std::vector<RankFigures> rank_figures(const std::vector<RankRecord>& ranks);

/// What a rank did in the steps that all of them have, by its clock. Spans are in order and apart, and lie in steps.
struct RankActivity {
  std::vector<Span> steps;
  std::vector<Span> waiting;  ///< of what is exposed, until the last rank had called, as far as that is known
  std::vector<Span> network;  ///< the rest of what is exposed
  std::vector<Span> hidden;
};

/// One for each of `ranks`. Empty where no step is common to all.
std::vector<RankActivity> rank_activity(const std::vector<RankRecord>& ranks);

/// What communication costs at a line, of one rank; means as above.
struct LineCommunication {
  std::string file;
  int line = 0;
  double exposed_ms = 0;
  double hidden_ms = 0;
  std::optional<double> waiting_ms;  ///< as RankFigures has it
};

/// A list for each of `ranks`; most exposed time first. Collectives that no user line called have an empty file. Empty
/// where no step is common to all.
std::vector<std::vector<LineCommunication>> line_communication(const std::vector<RankRecord>& ranks);

/// What a rank spends of a step at a line, without waiting for communication.
struct LineWork {
  analysis::Location line{};
  double ms = 0;
  double data_ms = 0;  ///< of those, in the data loader
};
struct RankWork {
  int rank = 0;
  std::vector<LineWork> lines;
};

struct Straggler {
  int rank = 0;
  double slower = 0;             ///< its own work, over the median of the other ranks': 0.18 is 18 % more
  analysis::Location line{};     ///< with at least half of the difference; empty: no single line has
  bool is_data_loading = false;  ///< most of that line's difference is in the data loader
};

/// The rank whose own work is longest, where it is so in the median over the common steps beyond the 95 % interval of
/// that median, by at least 3 %. Nothing else is claimed, and nothing with fewer than six steps. `work` may lack ranks.
std::optional<Straggler> find_straggler(const std::vector<RankRecord>& ranks, const std::vector<RankWork>& work);

}  // namespace ridgeline::jobs
