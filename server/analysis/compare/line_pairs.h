// Which line of one profile is which line of another, by their texts. Pure.
#pragma once

#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

struct LinePair {
  Presence presence = Presence::kSame;
  const LineCost* before = nullptr;  ///< null: kAdded
  const LineCost* after = nullptr;   ///< null: kRemoved
};

/// Every line of both, once; pointers are into them.
///
/// In a file that both have: a shortest difference (Myers) of the lines' texts. What is left and as long between the
/// same neighbours on both sides was edited; of the rest, what has a text that both have once was moved. A line whose
/// text is unknown in either profile is taken for the line of its number.
std::vector<LinePair> pair_lines(const std::vector<LineCost>& before, const std::vector<LineCost>& after);

}  // namespace ridgeline::analysis
