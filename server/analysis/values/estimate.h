// A figure with its interval, and a figure against batch size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline::analysis {

/// The median with the 95 % confidence interval of order statistics.
struct Measured {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// The 95 % prediction interval of one new observation.
struct Interval {
  double low = 0;
  std::optional<double> high;  ///< absent: no bound
};

/// How certain a figure of a model is. With kAtLeast and kAtMost the interval's end is the bound, and the value is only
/// an extrapolation.
enum class Certainty : std::uint8_t {
  kAbout,    ///< the value is the model's best guess
  kKnown,    ///< it was measured there, or is exact
  kAtLeast,  ///< so far from what was measured that only the lower bound is known
  kAtMost    ///< likewise the upper bound
};
inline constexpr std::array<const char*, 4> kCertaintyNames = {"about", "known", "atLeast", "atMost"};

struct Estimate {
  double value = 0;
  std::optional<Interval> interval;  ///< absent: unknown, as two points leave nothing to judge by
  Certainty certainty = Certainty::kAbout;
};

/// A piece of a model against batch size, up to the next one: value = intercept + slope × batch size, and of memory,
/// where allocations grow faster than the batch, with its square and its cube.
struct Piece {
  int from_batch = 1;
  double slope = 0;
  double intercept = 0;
  double square = 0;
  double cube = 0;
};

/// The piece that holds at a batch size; `pieces` are sorted by from_batch. Needs at least one.
inline const Piece& piece_at(const std::vector<Piece>& pieces, double batch_size) {
  const auto after = std::upper_bound(pieces.begin(), pieces.end(), batch_size, [](double size, const Piece& piece) {
    return size < static_cast<double>(piece.from_batch);
  });
  return after == pieces.begin() ? pieces.front() : *(after - 1);
}

/// The last batch size of a piece, at most `most`.
inline int end_of(const std::vector<Piece>& pieces, std::size_t piece, int most) {
  return piece + 1 < pieces.size() ? std::min(most, pieces[piece + 1].from_batch - 1) : most;
}

inline double value_at(const std::vector<Piece>& pieces, double batch_size) {
  const Piece& piece = piece_at(pieces, batch_size);
  return piece.intercept + batch_size * (piece.slope + batch_size * (piece.square + batch_size * piece.cube));
}

}  // namespace ridgeline::analysis
