#include "analysis/memory/allocation_growth.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridgeline::analysis {

namespace {

/// Beyond the samples a size may lie so many times as far off as the samples themselves lie off their line.
constexpr double kMargin = 4;

/// The most that a sample lies off the line through the first and the last.
double departure(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const double rise = static_cast<double>(bytes.back()) - static_cast<double>(bytes.front());
  double most = 0;
  for (std::size_t i = 1; i + 1 < bytes.size(); ++i) {
    const double part = static_cast<double>(sizes[i] - sizes.front()) / (sizes.back() - sizes.front());
    most = std::max(most, std::abs(static_cast<double>(bytes[i]) - static_cast<double>(bytes.front()) - part * rise));
  }
  return most;
}

}  // namespace

std::vector<Stretch> stretches_of(const std::vector<int>& sizes, bool all_linear) {
  const int most = std::numeric_limits<int>::max();
  const std::size_t last = sizes.size() - 1;
  if (all_linear) {
    return {{1, most, 0, last, false}};
  }
  std::vector<Stretch> stretches;
  if (sizes.front() > 1) {
    stretches.push_back({1, sizes.front() - 1, 0, 1, false});
  }
  for (std::size_t i = 0; i < last; ++i) {
    stretches.push_back({sizes[i], i + 1 == last ? sizes[last] : sizes[i + 1] - 1, i, i + 1, true});
  }
  stretches.push_back({sizes.back() + 1, most, last - 1, last, false});
  return stretches;
}

bool is_linear(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const auto rise = static_cast<double>(bytes.back()) - static_cast<double>(bytes.front());
  const double run = sizes.back() - sizes.front();
  if (rise < 0) {
    return false;
  }
  for (std::size_t i = 1; i + 1 < bytes.size(); ++i) {
    const auto part = static_cast<double>(bytes[i]) - static_cast<double>(bytes.front());
    if (part * run != rise * (sizes[i] - sizes.front())) {
      return false;
    }
  }
  return true;
}

Ends ends_of(const std::vector<std::uint64_t>& bytes, bool linear, const std::vector<int>& sizes,
             const Stretch& stretch, Bound bound) {
  const auto left = static_cast<double>(bytes[stretch.left]);
  const auto right = static_cast<double>(bytes[stretch.right]);
  if (linear) {
    return {left, right};
  }
  if (stretch.inside) {
    const double constant = bound == Bound::kLow ? std::min(left, right) : std::max(left, right);
    return bound == Bound::kValue ? Ends{left, right} : Ends{constant, constant};
  }
  const bool below = stretch.high < sizes.front();
  const double near = below ? left : right;
  const double ratio = static_cast<double>(sizes[stretch.left]) / sizes[stretch.right];
  const Ends constant{near, near};
  const Ends proportional = below ? Ends{left, left / ratio} : Ends{right * ratio, right};
  const Ends chord{left, right};
  const bool shrinks = right < left;
  const bool steep = chord.right - chord.left > proportional.right - proportional.left;
  if (bound == Bound::kValue) {
    return shrinks || (below && steep) ? constant : chord;
  }
  if (bound == Bound::kLow) {
    return shrinks || below ? Ends{0, 0} : constant;
  }
  const Ends ends = below ? (shrinks ? chord : constant) : (steep ? chord : proportional);
  const double margin = kMargin * departure(bytes, sizes);
  return {ends.left + margin, ends.right + margin};
}

std::uint64_t bytes_at(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes, int batch_size) {
  const bool linear = is_linear(bytes, sizes);
  for (const Stretch& stretch : stretches_of(sizes, linear)) {
    if (batch_size <= stretch.high) {
      const Ends ends = ends_of(bytes, linear, sizes, stretch, Bound::kValue);
      const double part =
          static_cast<double>(batch_size - sizes[stretch.left]) / (sizes[stretch.right] - sizes[stretch.left]);
      return static_cast<std::uint64_t>(std::max(0.0, std::round(ends.left + part * (ends.right - ends.left))));
    }
  }
  return bytes.back();
}

}  // namespace ridgeline::analysis
