#include "analysis/memory/allocation_growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

namespace ridgeline::analysis {

namespace {

/// Beyond the samples a size may lie this many times as far off as the samples themselves lie off their line.
constexpr double kMargin = 4;
/// Samples that grow with a greater power of the batch than this grow faster than it.
constexpr double kFaster = 1.1;
/// Factor for the upper bound of an allocation that grows faster than linearly: the samples may lie this far below the
/// whole power, as where sizes are padded to multiples.
constexpr double kSlack = 1.25;

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

/// Whether the bytes lie exactly on the line through the first and the last, and it does not fall.
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

/// The factors of 1, x, x² and x³.
using Polynomial = std::array<double, 4>;
using Powers = std::initializer_list<std::size_t>;

double value_of(const Polynomial& polynomial, double x) {
  return polynomial[0] + x * (polynomial[1] + x * (polynomial[2] + x * polynomial[3]));
}

/// The polynomial of these powers through as many samples, from the last one back. Gauss-Jordan with pivots; powers of
/// distinct positive x are independent.
Polynomial through_last(Powers powers, const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const std::size_t count = powers.size();
  const double scale = sizes.back();
  std::array<std::array<double, 4>, 3> rows{};  // the last column: the bytes
  for (std::size_t row = 0; row < count; ++row) {
    const std::size_t sample = bytes.size() - 1 - row;
    std::size_t column = 0;
    for (const std::size_t power : powers) {
      rows[row][column++] = std::pow(sizes[sample] / scale, static_cast<double>(power));
    }
    rows[row][count] = static_cast<double>(bytes[sample]);
  }
  for (std::size_t column = 0; column < count; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < count; ++row) {
      pivot = std::abs(rows[row][column]) > std::abs(rows[pivot][column]) ? row : pivot;
    }
    std::swap(rows[column], rows[pivot]);
    for (std::size_t row = 0; row < count; ++row) {
      const double factor = row == column ? 0 : rows[row][column] / rows[column][column];
      for (std::size_t k = column; k <= count; ++k) {
        rows[row][k] -= factor * rows[column][k];
      }
    }
  }
  Polynomial polynomial{};
  std::size_t row = 0;
  for (const std::size_t power : powers) {
    polynomial[power] = rows[row][count] / rows[row][row] / std::pow(scale, static_cast<double>(power));
    ++row;
  }
  return polynomial;
}

/// Whether it is at each sample, and from 1 on neither falls nor is below 0.
bool holds(const Polynomial& polynomial, const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  constexpr double kRounding = 1e-9;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto real = static_cast<double>(bytes[i]);
    if (std::abs(value_of(polynomial, sizes[i]) - real) > kRounding * std::max(1.0, real)) {
      return false;
    }
  }
  const double rounding = kRounding * static_cast<double>(bytes.back());
  return value_of(polynomial, 1) >= -rounding && polynomial[1] + 2 * polynomial[2] + 3 * polynomial[3] >= -rounding &&
         2 * polynomial[2] + 6 * polynomial[3] >= 0;
}

/// The power of the batch size, greater than 1, with which an allocation grows beyond the samples, from the last two
/// samples and the two before them, if there are any. Absent: it does not grow so fast.
std::optional<double> growing_power(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const auto power = [&](std::size_t right) {
    const double ratio = static_cast<double>(bytes[right]) / static_cast<double>(bytes[right - 1]);
    return std::log(ratio) / std::log(static_cast<double>(sizes[right]) / sizes[right - 1]);
  };
  const std::size_t last = bytes.size() - 1;
  for (std::size_t right = last; right > 0 && right + 2 > last; --right) {
    if (bytes[right - 1] == 0 || bytes[right] == 0 || power(right) < kFaster) {
      return std::nullopt;
    }
  }
  return power(last);
}

/// Above the samples, of what grows with a power of the batch that is greater than 1. The value mixes the whole powers
/// next to it, through the last two samples; the upper bound is the greater one, through the last.
Ends bent_ends(double left, double right, double l, double r, double power, Bound bound) {
  const bool is_square = power <= 2;
  if (bound == Bound::kHigh || power > 3) {
    const double slack = bound == Bound::kHigh ? kSlack : 1;
    const double factor = slack * right / (is_square ? r * r : r * r * r);
    return {factor * (is_square ? l * l : l * l * l), slack * right, is_square ? Bend{factor, 0} : Bend{0, factor}};
  }
  const double at_left = is_square ? left / l : left / (l * l);
  const double at_right = is_square ? right / r : right / (r * r);
  const double factor = (at_right - at_left) / (r - l);
  return {left, right, is_square ? Bend{factor, 0} : Bend{at_left - factor * l, factor}};
}

Ends shifted(Ends ends, double by) { return {ends.left + by, ends.right + by, ends.bend}; }

}  // namespace

std::vector<Stretch> stretches_of(const std::vector<int>& sizes, bool all_known) {
  const int most = std::numeric_limits<int>::max();
  const std::size_t last = sizes.size() - 1;
  if (all_known) {
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

std::optional<Bend> bend_of(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const double run = sizes.back() - sizes.front();
  const double rise = static_cast<double>(bytes.back()) - static_cast<double>(bytes.front());
  const bool begins_below = static_cast<double>(bytes.front()) * run < rise * sizes.front();
  const bool linear = is_linear(bytes, sizes);
  if (linear && (bytes.size() > 2 || !begins_below)) {
    return Bend{};
  }
  // The fewest coefficients first, and of those the lowest powers.
  for (const Powers powers : {Powers{2}, Powers{3}, Powers{0, 2}, Powers{1, 2}, Powers{0, 3}, Powers{1, 3},
                              Powers{2, 3}, Powers{0, 1, 2}, Powers{0, 1, 3}, Powers{0, 2, 3}, Powers{1, 2, 3}}) {
    if (powers.size() < bytes.size()) {
      const Polynomial polynomial = through_last(powers, bytes, sizes);
      if (holds(polynomial, bytes, sizes)) {
        return Bend{polynomial[2], polynomial[3]};
      }
    }
  }
  return linear ? std::optional(Bend{}) : std::nullopt;
}

Ends ends_of(const std::vector<std::uint64_t>& bytes, const std::optional<Bend>& bend, const std::vector<int>& sizes,
             const Stretch& stretch, Bound bound) {
  const auto left = static_cast<double>(bytes[stretch.left]);
  const auto right = static_cast<double>(bytes[stretch.right]);
  if (bend) {
    return {left, right, *bend};
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
  if (bound == Bound::kLow) {
    return shrinks || below ? Ends{0, 0} : constant;
  }
  const double margin = bound == Bound::kHigh ? kMargin * departure(bytes, sizes) : 0;
  if (const auto power = below ? std::nullopt : growing_power(bytes, sizes)) {
    return shifted(bent_ends(left, right, sizes[stretch.left], sizes[stretch.right], *power, bound), margin);
  }
  if (bound == Bound::kValue) {
    return shrinks || (below && steep) ? constant : chord;
  }
  return shifted(below ? (shrinks ? chord : constant) : (steep ? chord : proportional), margin);
}

std::uint64_t bytes_at(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes, int batch_size) {
  constexpr double kMostBytes = 0x1p48;
  const std::optional<Bend> bend = bend_of(bytes, sizes);
  for (const Stretch& stretch : stretches_of(sizes, bend.has_value())) {
    if (batch_size <= stretch.high) {
      const Ends ends = ends_of(bytes, bend, sizes, stretch, Bound::kValue);
      const double left = sizes[stretch.left];
      const double right = sizes[stretch.right];
      const double line = ends.left + (batch_size - left) / (right - left) * (ends.right - ends.left);
      const double bent = (batch_size - left) * (batch_size - right) *
                          (ends.bend.square + ends.bend.cube * (batch_size + left + right));
      return static_cast<std::uint64_t>(std::clamp(std::round(line + bent), 0.0, kMostBytes));
    }
  }
  return bytes.back();
}

}  // namespace ridgeline::analysis
