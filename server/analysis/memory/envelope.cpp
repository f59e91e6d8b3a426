#include "analysis/memory/envelope.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ridgeline::analysis {

namespace {

/// The first whole x, from `low` on, where `later` is greater than `earlier`, whose slope is less; above `high` when
/// there is none up to it.
long long overtakes(const StraightLine& earlier, const StraightLine& later, long long low, long long high) {
  const auto wins = [&](long long x) { return later.at(static_cast<double>(x)) > earlier.at(static_cast<double>(x)); };
  const double crossing = (earlier.intercept - later.intercept) / (later.slope - earlier.slope);
  if (crossing >= static_cast<double>(high) + 2) {
    return high + 1;
  }
  long long x = std::max(low, static_cast<long long>(std::floor(std::max(crossing, static_cast<double>(low)))));
  while (x > low && wins(x - 1)) {
    --x;  // rounding put the crossing too far
  }
  while (x <= high && !wins(x)) {
    ++x;
  }
  return x;
}

}  // namespace

std::vector<EnvelopePiece> upper_envelope(std::vector<StraightLine> lines, int low, int high) {
  std::ranges::sort(lines, [](const StraightLine& a, const StraightLine& b) {
    return std::pair(a.slope, a.intercept) < std::pair(b.slope, b.intercept);
  });
  std::vector<std::pair<long long, StraightLine>> hull;  // from where each is the greatest so far
  for (const StraightLine& line : lines) {
    while (!hull.empty()) {
      const auto& [from, top] = hull.back();
      const bool parallel = top.slope == line.slope;
      const long long start = parallel ? low : overtakes(top, line, low, high);
      if (start > from) {
        break;
      }
      hull.pop_back();
    }
    const long long start = hull.empty() ? low : overtakes(hull.back().second, line, low, high);
    if (start <= high) {
      hull.emplace_back(start, line);
    }
  }
  std::vector<EnvelopePiece> pieces;
  for (const auto& [from, line] : hull) {
    pieces.push_back({static_cast<int>(from), line});
  }
  return pieces;
}

}  // namespace ridgeline::analysis
