// Whether another batch size pays. Pure.
#pragma once

#include <optional>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

inline constexpr double kLittleGain = 1.05;    ///< times the throughput: below it, a larger batch brings little
inline constexpr double kSaturatedFactor = 2;  ///< a batch this many times one that is enough is larger than it need be

/// From the answers of `outlook`, of which `now` is what other sizes are compared with.
BatchConclusion conclude(const Profile& profile, const Outlook& outlook);

/// How many times the throughput of `now` `wanted` gives: of measurements where both ran, else of model to model, so
/// that what the fit misses is not taken for a gain.
std::optional<Estimate> gain_of(const BatchPrediction& wanted, const BatchPrediction& now);

}  // namespace ridgeline::analysis
