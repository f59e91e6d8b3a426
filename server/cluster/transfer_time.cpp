#include "cluster/transfer_time.h"

#include <algorithm>
#include <vector>

#include "analysis/time/models.h"

namespace ridgeline::cluster {

namespace {

using analysis::Point;

/// Sizes that are closer are one size.
constexpr double kDistinct = 1.5;

/// Least squares with the weights 1 / y²; a line that would have a negative part has none of it.
TransferTime line_through(const std::vector<Point>& points) {
  double w = 0;
  double wx = 0;
  double wxx = 0;
  double wy = 0;
  double wxy = 0;
  for (const Point& point : points) {
    const double weight = 1 / (point.y * point.y);
    w += weight;
    wx += weight * point.x;
    wxx += weight * point.x * point.x;
    wy += weight * point.y;
    wxy += weight * point.x * point.y;
  }
  const double determinant = w * wxx - wx * wx;
  const double slope = determinant > 0 ? (w * wxy - wx * wy) / determinant : 0;
  const double latency = (wy - slope * wx) / w;
  if (slope <= 0) return {wy / w, 0, true};
  if (latency <= 0) return {0, wxy / wxx, true};
  return {latency, slope, true};
}

TransferTime time_of(const std::map<double, std::vector<double>>& by_bytes, Unsplit unsplit) {
  std::vector<Point> points;
  for (const auto& [bytes, times] : by_bytes) points.push_back({bytes, analysis::median(times)});
  if (points.back().x > kDistinct * points.front().x) return line_through(points);
  if (unsplit == Unsplit::kLatency || points.back().x <= 0) return {points.back().y, 0, false};
  return {0, points.back().y / points.back().x, false};
}

}  // namespace

std::map<communication::Kind, TransferTime> transfer_times(const RecordedJob& job, Unsplit unsplit) {
  std::map<communication::Kind, std::map<double, std::vector<double>>> recorded;
  for (const EqualRanks& rank : job.ranks) {
    for (const Call& call : rank.calls) {
      if (call.recorded.has_value() && call.recorded->alone_ns > 0) {
        recorded[call.kind][call.bytes].push_back(call.recorded->alone_ns);
      }
    }
  }
  std::map<communication::Kind, TransferTime> times;
  for (const auto& [kind, by_bytes] : recorded) times[kind] = time_of(by_bytes, unsplit);
  return times;
}

}  // namespace ridgeline::cluster
