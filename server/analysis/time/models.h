// Straight lines against batch size, medians, and their intervals.
// Skyline (UIST 2020), "Making Performance Predictions": equations 1 to 3.
#pragma once

#include <optional>
#include <span>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

struct Point {
  double x = 0;
  double y = 0;
};

/// The line of least squares, in closed form over centred sums. Needs two distinct x; else nothing. Pure.
std::optional<Line> fit_line(std::span<const Point> points);

/// The line's value at x and the 95 % prediction interval of a new observation (Student's t, n - 2 degrees of freedom).
/// With two points the interval is unknown: low and high are the value itself and `known` is false.
struct Prediction {
  Measured y;
  bool known = false;
};
Prediction predict(const Line& line, double x);

/// The middle value, or the mean of the two middle ones. Needs one value; else zero.
double median(std::span<const double> values);

/// Median and the 95 % confidence interval by order statistics (binomial, distribution-free). With fewer than six
/// values the interval is their range. Needs one value; else zeros.
Measured median_interval(std::span<const double> values);

}  // namespace ridgeline::analysis
