// Two versions of a training step, compared: what is larger or slower, what is not, and what cannot be said. Values.
//
// Definitions: docs/dev/measurement/comparisons.md. Times are milliseconds of one iteration, memory is bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

enum class Outcome : std::uint8_t {
  kDiffers,       ///< the interval leaves zero out
  kNoDifference,  ///< the interval has zero in it, and nothing beyond the margin
  kUndecided      ///< neither: the noise allows no answer
};

/// The figures of one comparison lie within their intervals all at once with a probability of 95 %.
struct Bounds {
  double low = 0;
  double high = 0;
};

struct TimeChange {
  double before_ms = 0;  ///< of several runs, the mean of the logarithms
  double after_ms = 0;
  double change = 0;               ///< after / before - 1; 0 where either is 0
  std::optional<Bounds> bounds{};  ///< of `change`; absent: too little was measured
  Outcome outcome = Outcome::kUndecided;
};

struct MemoryChange {
  std::uint64_t before_bytes = 0;  ///< of several runs, the middle one
  std::uint64_t after_bytes = 0;
  Bounds bounds{};  ///< of after - before, bytes: the smallest and the largest difference of any two runs
  Outcome outcome = Outcome::kUndecided;
};

/// The energy of an iteration, by the counters of the machine.
struct EnergyChange {
  double before_joules = 0;  ///< of several runs, the mean
  double after_joules = 0;
  Bounds bounds{};  ///< of after - before, joules: the smallest and the largest difference of any two rounds
  Outcome outcome = Outcome::kUndecided;
};

/// A phase, a category or a module.
struct Change {
  std::string name;
  std::optional<TimeChange> time;
  std::optional<MemoryChange> memory;
};

/// How a line of one version corresponds to one of the other.
enum class Presence : std::uint8_t {
  kSame,    ///< the same text, between the same lines; its number may have changed
  kMoved,   ///< the same text elsewhere
  kEdited,  ///< another text, between the same lines
  kAdded,   ///< only in the version after
  kRemoved  ///< only in the version before
};
inline constexpr std::array<const char*, 5> kPresenceNames = {"same", "moved", "edited", "added", "removed"};

struct LineChange {
  Presence presence = Presence::kSame;
  Location before;  ///< without a file: kAdded
  Location after;   ///< without a file: kRemoved
  std::string before_text;
  std::string after_text;
  std::optional<TimeChange> time;  ///< of the line itself; absent where it takes too little of either version
  std::optional<MemoryChange> memory;
};

struct Subject {
  std::string name;  ///< a file, the id of a kept profile, or a revision
  std::string entry_path;
  std::optional<int> batch_size;  ///< absent: not known
  std::string device;
  std::string torch;
  int runs = 0;
};

struct Comparison {
  Subject before;
  Subject after;
  bool in_turns = false;  ///< the runs of both were made in turns
  double margin = 0;      ///< the most that kNoDifference may leave open, as a fraction
  TimeChange step;
  std::optional<MemoryChange> peak;      ///< absent where it is not known
  std::optional<EnergyChange> energy{};  ///< absent where it was not measured in all runs
  std::vector<Change> phases;            ///< those that take 1 % of the step in either version
  std::vector<Change> categories;
  std::vector<Change> modules;     ///< likewise, by the path of their names, as the breakdown has them
  std::vector<LineChange> lines;   ///< likewise, or with 1 % of the peak; most time first
  std::vector<std::string> notes;  ///< what makes the two less comparable
};

}  // namespace ridgeline::analysis
