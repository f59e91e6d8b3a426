#include "operations/estimators/largest_batch.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ridgeline::operations {

namespace {

struct Point {
  double batch_size = 0;
  double bytes = 0;
};

std::optional<int> largest(const std::vector<Point>& points, double capacity) {
  const auto end = std::ranges::find_if(points.begin() + 1, points.end(),
                                        [&](const Point& point) { return point.bytes > capacity; });
  if (end == points.end()) {
    return std::nullopt;
  }
  const Point& from = *std::prev(end);
  const double by_sample = (end->bytes - from.bytes) / (end->batch_size - from.batch_size);
  if (by_sample <= 0) {
    return std::nullopt;
  }
  return static_cast<int>(std::max(0.0, std::floor(from.batch_size + (capacity - from.bytes) / by_sample)));
}

}  // namespace

std::optional<LargestBatchRange> largest_batch(std::span<const HeldAt> steps, double capacity_bytes) {
  std::vector<Point> least;
  std::vector<Point> most;
  for (const HeldAt& step : steps) {
    const double low = least.empty() ? 0 : least.back().bytes;
    const double high = most.empty() ? 0 : most.back().bytes;
    least.push_back({static_cast<double>(step.batch_size), std::max(low, step.held.low)});
    most.push_back({static_cast<double>(step.batch_size), std::max(high, step.held.high)});
  }
  if (least.size() < 2) {
    return std::nullopt;
  }
  const auto high = largest(least, capacity_bytes);
  const auto low = largest(most, capacity_bytes);
  return high && low ? std::optional(LargestBatchRange{std::min(*low, *high), *high}) : std::nullopt;
}

}  // namespace ridgeline::operations
