// The upper envelope of curves: their maximum, as pieces.
#pragma once

#include <cstddef>
#include <vector>

namespace ridgeline::analysis {

/// A polynomial of the third degree at most.
struct Curve {
  double slope = 0;
  double intercept = 0;
  double square = 0;
  double cube = 0;
  std::size_t id = 0;  ///< the caller's
  double at(double x) const { return intercept + x * (slope + x * (square + x * cube)); }
};

struct EnvelopePiece {
  int from = 0;  ///< the first whole x where this curve is the greatest, up to the next piece's
  Curve curve;
};

/// The greatest of `curves` at each whole x from `low` to `high`, by `from`; the first piece begins at `low`. Empty
/// when there is no curve. O(curves × pieces). Pure.
std::vector<EnvelopePiece> upper_envelope(const std::vector<Curve>& curves, int low, int high);

}  // namespace ridgeline::analysis
