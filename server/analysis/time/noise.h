// What the noise of a measurement allows to be said. Pure.
#pragma once

#include <string>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// Whether two measurements of a step differ by more than noise explains: 2 %, the A/A noise of either, and half of the
/// widths of both intervals. Their times are above 0.
bool differ(const TimeSample& a, const TimeSample& b);

/// What was sampled at a batch size; null: nothing, or it took no time.
const TimeSample* sample_of(const Profile& profile, int batch_size);

/// Why the iteration time is_uncertain(), for the user; else empty.
std::string uncertainty(const Profile& profile);

}  // namespace ridgeline::analysis
