// What ends a training step of a script that runs as it is, and how that is spelled.
#pragma once

#include <array>
#include <cstdint>

namespace ridgeline::protocol {

/// The step of an optimizer, the next batch of a data loader, or a line of the user's.
enum class StepEnd : std::uint8_t { kOptimizer, kDataLoader, kLine };
inline constexpr std::array<const char*, 3> kStepEndNames = {"optimizer", "dataLoader", "line"};

}  // namespace ridgeline::protocol
