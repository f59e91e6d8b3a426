// Samples of the iteration time after isotonic regression: a step does not get faster as its batch grows.
#pragma once

#include <span>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// The samples with other times where a smaller batch took longer than a larger one and noise may have made that: then
/// both get the mean of what they took, each weighted by the inverse of its variance (isotonic regression by pooling
/// adjacent violators), so that a noisy sample beside a good one gets the good one's time. Its interval then reaches to
/// what was measured. Times keep falling only between samples that are each known within 10 % and differ by more than
/// their 95 % intervals and 1.5 %. `samples` by batch size, with positive times. Pure.
std::vector<TimeSample> isotonic_samples(std::span<const TimeSample> samples);

/// Whether the regression moved a sample by so much that the measurement has to have been disturbed: a fifth of its
/// time or more.
bool was_disturbed(const TimeSample& measured, const TimeSample& isotonic);

}  // namespace ridgeline::analysis
