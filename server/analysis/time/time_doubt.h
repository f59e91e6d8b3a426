// How far real iteration times may lie off a model, by how far samples lie off what the other samples say of them.
#pragma once

#include <span>
#include <vector>

#include "analysis/profile.h"

namespace ridgeline::analysis {

/// Standard deviation of one measured time that a second measurement would show, as a part of it: from its own interval
/// and from the A/A noise of all samples, whichever is larger. Pure.
double noise_of(const TimeSample& sample, std::span<const TimeSample> samples);

/// Relative standard deviations per unit of distance (see `distance_at`): one for each gap between samples, before them
/// one for what lies below the samples, after them one for what lies above. By leave-one-out errors, less the noise of
/// what they were computed from, together with a prior; what is seen in one gap counts half as much an octave away.
/// `low_error` and `high_error` are how far the first and the last sample lie off the model of all the others, as a
/// part of their time. `samples` by batch size; three or more. Pure.
std::vector<double> doubts_of(std::span<const TimeSample> samples, double low_error, double high_error);

struct Distance {
  std::size_t gap = 0;  ///< index into the doubts
  double octaves = 0;   ///< 0 at a sample; inside a gap, the harmonic mean of both distances, halved
};

/// How far a batch size is from what was measured, in doublings of the batch. Pure.
Distance distance_at(std::span<const TimeSample> samples, double batch_size);

}  // namespace ridgeline::analysis
