// The upper envelope of straight lines: their maximum, as pieces.
#pragma once

#include <cstddef>
#include <vector>

namespace ridgeline::analysis {

struct StraightLine {
  double slope = 0;
  double intercept = 0;
  std::size_t id = 0;  ///< the caller's
  double at(double x) const { return intercept + slope * x; }
};

struct EnvelopePiece {
  int from = 0;  ///< the first whole x where this line is the greatest, up to the next piece's
  StraightLine line;
};

/// The greatest of `lines` at each whole x from `low` to `high`, by `from`; the first piece begins at `low`. Empty when
/// there is no line. Slopes of the pieces ascend. O(n log n). Pure.
std::vector<EnvelopePiece> upper_envelope(std::vector<StraightLine> lines, int low, int high);

}  // namespace ridgeline::analysis
