// What every prediction of a changed step may miss by, and what makes most of an interval.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace ridgeline::step {

/// What even a change of nothing may miss by: the step is not the same twice.
inline constexpr double kLeastError = 0.02;
/// A share of what a change takes away that may come back in another form, or the other way round.
inline constexpr double kSystematicShare = 0.15;

/// A part of an interval.
struct ErrorPart {
  double size = 0;     ///< in any unit that all parts have
  std::string clause;  ///< what it comes from
};

/// `parts`: at least one.
inline const std::string& clause_of_largest(const std::vector<ErrorPart>& parts) {
  return std::ranges::max_element(parts, {}, &ErrorPart::size)->clause;
}

}  // namespace ridgeline::step
