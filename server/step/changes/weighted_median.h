// The median of values that count by their weights.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace ridgeline::step {

/// Of (value, weight); 0 of none.
inline double weighted_median(std::vector<std::pair<double, double>> values) {
  std::ranges::sort(values);
  double total = 0;
  for (const auto& [value, weight] : values) {
    total += weight;
  }
  double sum = 0;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (2 * sum >= total) {
      return value;
    }
  }
  return 0;
}

}  // namespace ridgeline::step
