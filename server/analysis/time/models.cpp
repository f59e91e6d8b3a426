#include "analysis/time/models.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/time/quantiles.h"

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
  const std::size_t rank = median_rank95(count);
  return {middle_of(sorted), sorted[rank], sorted[count - 1 - rank]};
}

}  // namespace ridgeline::analysis
