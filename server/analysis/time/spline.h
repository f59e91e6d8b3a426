// Linear splines through samples of the iteration time, by weighted least squares.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

using Knots = std::vector<int>;  ///< batch sizes, ascending, at which the slope changes

struct Spline {
  Knots knots;
  std::vector<double> coefficients;  ///< of 1, x and max(0, x - knot) for each knot
  std::vector<double> covariance;    ///< of the coefficients, row by row, for errors of variance 1
  std::vector<double> residuals;     ///< of each sample, as a part of its time
  double squared_error = 0;          ///< sum of the squared residuals, each as it counts
};

/// The spline of least squared relative error: each value counts by the inverse square of its sample's time, and less
/// where the sample is noisier than usual (a standard deviation over 3 %), by the inverse of its variance. Needs at
/// least as many samples as the spline has coefficients, and a value for each; nothing when the samples do not
/// determine them, or are not finite. Pure.
std::optional<Spline> fit_spline(const Knots& knots, std::span<const TimeSample> samples,
                                 std::span<const double> values);

/// The coefficients of several splines with the same knots, each through its own values at the same samples. Empty
/// where fit_spline() would give nothing. Pure.
std::vector<std::vector<double>> fit_coefficients(const Knots& knots, std::span<const TimeSample> samples,
                                                  std::span<const std::vector<double>> value_sets);

/// The value of a spline with these coefficients at x.
double spline_at(const Knots& knots, std::span<const double> coefficients, double x);

/// The variance of that value, for errors of variance 1.
double spline_variance_at(const Knots& knots, std::span<const double> covariance, double x);

/// The same spline as straight pieces, the first from batch size 1.
std::vector<Piece> pieces_of(const Knots& knots, std::span<const double> coefficients);

}  // namespace ridgeline::analysis
