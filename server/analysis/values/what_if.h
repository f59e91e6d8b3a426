// What changes of a step would bring: predicted, and tried where they were run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::analysis {

/// How many times as many samples a second: 1 means that nothing changes.
struct SpeedUp {
  double value = 1;
  double low = 1;   ///< 95 %
  double high = 1;  ///< likewise
};

/// What an interval says once it is rounded as it is shown, to hundredths.
enum class Direction : std::uint8_t {
  kFaster,
  kSlower,
  kSame,     ///< both ends are 1.00
  kUnclear,  ///< one end is faster and one slower: neither a gain nor a loss
};

inline Direction direction_of(const SpeedUp& speed_up) {
  constexpr double kRounding = 0.005;
  const bool may_be_slower = speed_up.low < 1 - kRounding;
  const bool may_be_faster = speed_up.high >= 1 + kRounding;
  return may_be_slower ? (may_be_faster ? Direction::kUnclear : Direction::kSlower)
                       : (may_be_faster ? Direction::kFaster : Direction::kSame);
}

/// Whether an interval is so wide that its reason matters.
inline bool is_wide(const SpeedUp& speed_up) { return speed_up.high > 2 * speed_up.low; }

/// From the graph of the step and the times of operations; the changed step was not run.
struct PredictedChange {
  SpeedUp speed_up;
  double step_ms = 0;  ///< the changed step; for another batch size that of its own samples
  /// The peak of the allocator; absent: not known.
  std::optional<std::uint64_t> peak_bytes;
  /// What a device's caching allocator reserves; absent: on the host, or not asked for (app::ChangeQuestion::reserves).
  std::optional<std::uint64_t> reserved_bytes{};
  /// Share of the changed part's time that is of operations measured alone on this machine; the rest is assumed.
  double measured_share = 1;
  bool by_rule = false;  ///< all of it, or a part: on the graph of the step, by a rule that guesses
  /// `speed_up` before its interval was widened by what predictions of other models missed; absent: it was not.
  std::optional<SpeedUp> uncalibrated{};
  std::string largest_error{};  ///< what makes most of the interval, as a clause; see is_wide()
};

/// What has to fit into memory: what is reserved, else the peak.
inline std::optional<std::uint64_t> needed_bytes(const PredictedChange& predicted) {
  return predicted.reserved_bytes.has_value() ? predicted.reserved_bytes : predicted.peak_bytes;
}

/// The changed step ran in turns with the unchanged one.
struct TriedChange {
  SpeedUp speed_up;
  double unchanged_ms = 0;
  double changed_ms = 0;
  std::uint64_t unchanged_peak_bytes = 0;
  std::uint64_t changed_peak_bytes = 0;
  /// Largest relative difference of the losses of the first steps; infinity: a loss that is not a number any more.
  std::optional<double> loss_drift;
  /// The same of the unchanged step with another seed; 0: nothing in it is random; absent: not known.
  std::optional<double> seed_drift{};
};

/// A speed-up, as far as it is known, of which less than this is no gain.
inline constexpr double kLeastGain = 1.03;

struct ChangeAnswer {
  std::vector<std::string> change;  ///< as it was asked for: `NAME` or `NAME:ARGUMENT`, made together in order
  std::string title;                ///< what it is
  std::string takes;                ///< what the user has to write for it; empty: no rule for that
  std::string reason;               ///< why it does not apply, or cannot be predicted; mostly empty
  std::optional<PredictedChange> predicted{};
  std::optional<TriedChange> tried{};
  std::string not_predicted{};                ///< why there is no prediction of a change that applies; mostly empty
  std::optional<std::uint64_t> peak_bytes{};  ///< predicted, where the time is not
  std::string not_tried{};                    ///< why trying failed; mostly empty
  bool can_be_tried = false;                  ///< the runner can make it
  bool can_be_written = false;                ///< as an edit of the entry file; only editors are told
};

/// Whether all that is known of the change says that it does not pay: as tried, else as predicted, it is no faster, and
/// it takes no less memory than `peak_bytes`.
inline bool brings_nothing(const ChangeAnswer& row, std::uint64_t peak_bytes) {
  constexpr double kLessMemory = 0.95;
  const SpeedUp* speed_up = row.tried ? &row.tried->speed_up : row.predicted ? &row.predicted->speed_up : nullptr;
  if (speed_up == nullptr || speed_up->value >= kLeastGain || direction_of(*speed_up) == Direction::kFaster) {
    return false;
  }
  const auto predicted = row.predicted ? row.predicted->peak_bytes : row.peak_bytes;
  const double peak = row.tried ? static_cast<double>(row.tried->changed_peak_bytes)
                                : static_cast<double>(predicted.value_or(peak_bytes));
  const double before = static_cast<double>(row.tried ? row.tried->unchanged_peak_bytes : peak_bytes);
  return peak >= kLessMemory * before;
}

/// A change that may make a batch size fit into memory.
struct FittingChange {
  std::vector<std::string> change;  ///< as it is asked for; empty: the batch size alone
  std::string title;
  std::string takes;
  std::string reason;           ///< why it does not apply; then there is nothing else
  double step_ms = 0;           ///< predicted, of all samples of the batch
  SpeedUp speed_up;             ///< over the batch size alone
  std::string largest_error{};  ///< PredictedChange::largest_error of that
  std::uint64_t peak_bytes = 0;
  std::optional<std::uint64_t> reserved_bytes{};  ///< on a device: this has to fit
  bool fits = false;
};

/// What makes a batch size fit. All of it predicted.
struct MakeFit {
  std::string entry_path;  ///< absolute
  std::string project_root;
  std::string device;
  int batch_size = 0;
  std::uint64_t limit_bytes = 0;
  bool by_fitted_model = false;        ///< the peak of the batch size alone; else from its captured operations
  std::vector<FittingChange> changes;  ///< the batch size alone; then those that fit, fastest first; then the others
  std::vector<std::string> warnings;
};

struct WhatIf {
  bool from_trace = false;  ///< of an imported trace: nothing of it can be run here, and peak_bytes may be 0: unknown
  std::string entry_path;   ///< absolute
  std::string project_root;
  int batch_size = 0;
  double step_ms = 0;  ///< measured
  std::uint64_t peak_bytes = 0;
  std::string device;
  int operations = 0;           ///< distinct ones in the unchanged step and in the changed ones
  int operations_measured = 0;  ///< of those, timed for this answer; the others were known
  /// Models whose predictions the intervals were widened by, and the share of such models for which they are made to
  /// hold; 0: they were not, and are 95 % intervals.
  int calibration_models = 0;
  double calibration_level = 0;
  /// Trying the changes that can be, and were not, is likely to take; absent: there is none.
  std::optional<double> try_seconds{};
  std::vector<ChangeAnswer> changes;  ///< those that apply first, most speed-up first
  std::vector<std::string> warnings;
};

}  // namespace ridgeline::analysis
