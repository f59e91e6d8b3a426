// What ends a training step of a script that runs as it is, and how that is spelled.
#pragma once

#include <array>
#include <cstdint>

namespace ridgeline::protocol {

/// The step of an optimizer, the next batch of a data loader, a line of the user's, a backward pass in which the
/// optimizers step, what follows after the script has updated its weights itself, or the next call of a model that is
/// not trained.
enum class StepEnd : std::uint8_t { kOptimizer, kDataLoader, kLine, kBackward, kWeightUpdate, kForward };
inline constexpr std::array<const char*, 6> kStepEndNames = {"optimizer", "dataLoader",   "line",
                                                             "backward",  "weightUpdate", "forward"};

}  // namespace ridgeline::protocol
