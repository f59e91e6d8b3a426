// What time and memory of a step are divided into.
//
// Definitions: docs/dev/measurement.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ridgeline::analysis {

/// Recomputation is forward work that runs again during backward: activation checkpointing.
enum class Phase : std::uint8_t { kForward, kBackward, kRecomputation, kOptimizer, kData, kOther };
inline constexpr std::size_t kPhaseCount = 6;
inline constexpr std::array<const char*, kPhaseCount> kPhaseNames = {"forward",   "backward", "recomputation",
                                                                     "optimizer", "data",     "other"};

enum class Category : std::uint8_t { kWeights, kGradients, kOptimizerState, kActivations, kInputs, kTemporaries };
inline constexpr std::size_t kCategoryCount = 6;
/// As the JSON report spells them.
inline constexpr std::array<const char*, kCategoryCount> kCategoryNames = {"weights",     "gradients", "optimizerState",
                                                                           "activations", "inputs",    "temporaries"};
/// As people read them.
inline constexpr std::array<const char*, kCategoryCount> kCategoryLabels = {
    "weights", "gradients", "optimizer state", "activations", "inputs", "temporaries"};

using ByPhase = std::array<double, kPhaseCount>;
using ByCategory = std::array<std::uint64_t, kCategoryCount>;

}  // namespace ridgeline::analysis
