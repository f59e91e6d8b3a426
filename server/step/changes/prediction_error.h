// What every prediction of a changed step may miss by.
#pragma once

namespace ridgeline::step {

/// What even a change of nothing may miss by: the step is not the same twice.
inline constexpr double kLeastError = 0.02;
/// A share of what a change takes away that may come back in another form, or the other way round.
inline constexpr double kSystematicShare = 0.15;

}  // namespace ridgeline::step
