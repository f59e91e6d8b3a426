// How much two words are alike: for "did you mean".
#pragma once

#include <string_view>

namespace ridgeline::base {

/// From this similarity on, one word was probably meant for the other; profiler/runner has the same cutoff.
inline constexpr double kLeastSimilarity = 0.8;

/// Twice the length of the longest common subsequence of bytes, as a share of the length of both words: 0 to 1. 0 at
/// once where the lengths alone keep it below kLeastSimilarity. Time |a| · |b|. Pure.
double similarity(std::string_view a, std::string_view b);

}  // namespace ridgeline::base
