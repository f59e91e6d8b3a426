#include "analysis/time/models.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace ridgeline::analysis {

std::optional<Line> fit_line(std::span<const Point> points) {
  Line line;
  line.count = static_cast<int>(points.size());
  double mean_y = 0;
  for (const Point& point : points) {
    line.mean_x += point.x / static_cast<double>(points.size());
    mean_y += point.y / static_cast<double>(points.size());
  }
  double sum_xy = 0;
  double sum_yy = 0;
  for (const Point& point : points) {
    line.sum_squares_x += (point.x - line.mean_x) * (point.x - line.mean_x);
    sum_xy += (point.x - line.mean_x) * (point.y - mean_y);
    sum_yy += (point.y - mean_y) * (point.y - mean_y);
  }
  if (points.size() < 2 || line.sum_squares_x <= 0) {
    return std::nullopt;
  }
  line.slope = sum_xy / line.sum_squares_x;
  line.intercept = mean_y - line.slope * line.mean_x;
  double residual = 0;
  for (const Point& point : points) {
    const double error = point.y - (line.intercept + line.slope * point.x);
    residual += error * error;
  }
  line.r2 = sum_yy > 0 ? std::clamp(1 - residual / sum_yy, 0.0, 1.0) : 1;
  if (line.count > 2) {
    line.residual_sd = std::sqrt(residual / (line.count - 2));
    const double reach = student_t95(line.count - 2) * line.residual_sd;
    line.slope_half_width = reach / std::sqrt(line.sum_squares_x);
    line.intercept_half_width = reach * std::sqrt(1.0 / line.count + line.mean_x * line.mean_x / line.sum_squares_x);
  }
  return line;
}

Prediction predict(const Line& line, double x) {
  Prediction prediction;
  prediction.y.value = line.intercept + line.slope * x;
  prediction.y.low = prediction.y.high = prediction.y.value;
  if (line.count > 2) {
    const double distance = x - line.mean_x;
    const double spread = line.residual_sd * std::sqrt(1 + 1.0 / line.count + distance * distance / line.sum_squares_x);
    const double half = student_t95(line.count - 2) * spread;
    prediction.y.low -= half;
    prediction.y.high += half;
    prediction.known = true;
  }
  return prediction;
}

namespace {

double middle_of(const std::vector<double>& sorted) {
  const std::size_t count = sorted.size();
  return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted;
}

}  // namespace

double median(std::span<const double> values) { return values.empty() ? 0 : middle_of(sorted_copy(values)); }

Measured median_interval(std::span<const double> values) {
  if (values.empty()) {
    return {};
  }
  const std::vector<double> sorted = sorted_copy(values);
  const std::size_t count = sorted.size();
  // The largest rank r with P(fewer than r + 1 of n fall below the median) <= 2.5 %, in logarithms: n may be large.
  double cumulative = 0;
  std::size_t rank = 0;
  const double n = static_cast<double>(count);
  for (std::size_t below = 0; below <= count / 2; ++below) {
    const double k = static_cast<double>(below);
    cumulative += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
    if (cumulative > 0.025) {
      break;
    }
    rank = below;
  }
  return {middle_of(sorted), sorted[rank], sorted[count - 1 - rank]};
}

double student_t95(int degrees) {
  static constexpr std::array<double, 30> kTable = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
      2.120,  2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  const int row = std::max(degrees, 1);
  if (row <= 30) {
    return kTable[static_cast<std::size_t>(row - 1)];
  }
  // Beyond the table: the first terms of the expansion in 1/degrees around the normal quantile.
  const double inverse = 1.0 / row;
  return 1.95996 + (2.3722 + 2.8224 * inverse) * inverse;
}

}  // namespace ridgeline::analysis
