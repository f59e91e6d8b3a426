// Throughput and memory against batch size: least squares, and the intervals of what they predict.
// Skyline (UIST 2020), "Making Performance Predictions": equations 1 to 3.
#pragma once

#include <optional>
#include <span>

#include "analysis/profile.h"

namespace ridgeline::analysis {

struct Point {
  double x = 0;
  double y = 0;
};

/// Least squares line. Needs two distinct x; else nothing. Pure.
std::optional<Line> fit_line(std::span<const Point> points);

/// The line's value at x and the 95 % prediction interval of a new observation (Student's t, n - 2 degrees of freedom).
/// With two points the interval is unknown: low and high are the value itself and `known` is false.
struct Prediction {
  Measured y;
  bool known = false;
};
Prediction predict(const Line& line, double x);

/// The value in the middle, or the mean of the two there. Needs one value; else zero.
double median(std::span<const double> values);

/// Median and the 95 % confidence interval by order statistics (binomial, distribution-free). With fewer than six
/// values the interval is their range. Needs one value; else zeros.
Measured median_interval(std::span<const double> values);

/// Two-sided 95 % quantile of the normal distribution.
inline constexpr double kNormal95 = 1.95996;
/// Two-sided 95 % quantile of Student's t. `degrees` at least 1.
double student_t95(int degrees);

}  // namespace ridgeline::analysis
