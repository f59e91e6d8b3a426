#include "analysis/memory/envelope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace ridgeline::analysis {

namespace {

using Whole = long long;

/// Where the slope of a curve changes its sign, at most twice.
std::array<double, 2> turns_of(const Curve& curve) {
  constexpr double kNowhere = -1;
  const double a = 3 * curve.cube;
  const double b = 2 * curve.square;
  const double c = curve.slope;
  if (a == 0) {
    return {b == 0 ? kNowhere : -c / b, kNowhere};
  }
  const double root = b * b - 4 * a * c;
  if (root < 0) {
    return {kNowhere, kNowhere};
  }
  const double q = -(b + std::copysign(std::sqrt(root), b)) / 2;
  const std::array<double, 2> turns = {q / a, q == 0 ? kNowhere : c / q};
  return {std::min(turns[0], turns[1]), std::max(turns[0], turns[1])};
}

/// The first whole x from `low` to `high` where `later` is above `earlier`; `high + 1` where it never is.
Whole first_above(const Curve& later, const Curve& earlier, Whole low, Whole high) {
  const Curve difference{later.slope - earlier.slope, later.intercept - earlier.intercept,
                         later.square - earlier.square, later.cube - earlier.cube};
  const auto is_above = [&](Whole x) { return later.at(static_cast<double>(x)) > earlier.at(static_cast<double>(x)); };
  Whole from = low;
  const std::array<double, 2> turns = turns_of(difference);
  for (const double turn : {turns[0], turns[1], static_cast<double>(high)}) {
    if (turn < static_cast<double>(from)) {
      continue;
    }
    // From here to there the difference rises or falls throughout.
    const Whole to = turn >= static_cast<double>(high) ? high : static_cast<Whole>(std::floor(turn));
    if (is_above(from)) {
      return from;
    }
    if (is_above(to)) {
      Whole below = from;
      Whole above = to;
      while (above - below > 1) {
        const Whole middle = below + (above - below) / 2;
        (is_above(middle) ? above : below) = middle;
      }
      return above;
    }
    from = to + 1;
    if (from > high) {
      break;
    }
  }
  return high + 1;
}

}  // namespace

std::vector<EnvelopePiece> upper_envelope(const std::vector<Curve>& curves, int low, int high) {
  std::vector<EnvelopePiece> pieces;
  // Among the curves that are greatest at a place, the one that is greater further on.
  const auto rank = [&](const Curve& curve, Whole x) {
    return std::tuple(curve.at(static_cast<double>(x)), curve.cube, curve.square, curve.slope);
  };
  Whole from = low;
  while (!curves.empty() && from <= high) {
    const Curve& top = *std::ranges::max_element(curves, {}, [&](const Curve& curve) { return rank(curve, from); });
    pieces.push_back({static_cast<int>(from), top});
    Whole next = Whole{high} + 1;
    for (const Curve& curve : curves) {
      next = next > from + 1 ? std::min(next, first_above(curve, top, from + 1, next - 1)) : next;
    }
    from = next;
  }
  return pieces;
}

}  // namespace ridgeline::analysis
