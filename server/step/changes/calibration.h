// Intervals of predictions, from what predictions of other models missed.
//
// The table holds residuals of models that were predicted and tried (tests/bench/what_if_calibration.py, which writes
// it): split conformal prediction, with models as the exchangeable units. How far a trial lies outside of the model's
// own interval, as a difference of logarithms, is a model's residual, the worst of its pairs of a kind; the quantile
// over models widens both ends (conformalized quantile regression: Romano, Patterson and Candes, 2019).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analysis/values/what_if.h"

namespace ridgeline::step {

/// A row of the table.
struct Residual {
  std::string_view kind;  ///< of changes, as kind_of() has them; "any": all of them together
  double least_share;     ///< of what changes that was measured
  int models;             ///< that the quantile is of
  int pairs;              ///< of predictions and trials
  double widening;        ///< of the logarithm of a speed-up, on each side; not negative
};

std::span<const Residual> residual_table();

/// The number of models that the table was made from.
int calibration_models();

/// Share of models, which the table was not made from, of which the intervals of a kind are expected to hold.
double calibrated_level();

/// "combined" for several changes, else the kind of one; "any" for one that has no row.
std::string_view kind_of(std::span<const std::string> changes);

/// What the table says of a kind; of "any" where it has no row of the kind. Never less for a smaller `share`.
double widening_of(std::span<const Residual> table, std::string_view kind, double share);

/// The same value in an interval that is no narrower. `changes`: those that the runner makes. Pure.
analysis::SpeedUp calibrated(const analysis::SpeedUp& speed_up, std::span<const std::string> changes, double share);

}  // namespace ridgeline::step
