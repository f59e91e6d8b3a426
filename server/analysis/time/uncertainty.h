// How far real iteration times may lie off a model, judged by how far each sample lies off what the others predict.
#pragma once

#include <span>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// How much measured times vary.
class Noise {
 public:
  explicit Noise(std::span<const TimeSample> samples);
  /// The relative standard deviation of one measured time: from its own interval or from the A/A noise of all samples,
  /// whichever is larger. Of all but those whose A/A noise is over five times the median: what disturbed one says
  /// nothing of the others. Pure.
  double of(const TimeSample& sample) const;

 private:
  double most_usual_ = 0;
  double usual_ = 0;
};

/// Relative standard deviations per unit of distance (see distance_at()): first the one below all samples, then one for
/// each gap between two samples, last the one above all samples. Estimated from leave-one-out errors, less the noise of
/// the samples that they were computed from, and a prior; an error in one gap counts half as much an octave away.
/// `low_error` and `high_error`: the relative leave-one-out errors of the first and the last sample. Needs three
/// samples or more, by batch size. Pure.
std::vector<double> uncertainty_rates(std::span<const TimeSample> samples, double low_error, double high_error);

struct Distance {
  std::size_t gap = 0;  ///< index into the uncertainty rates
  double octaves = 0;   ///< 0 at a sample; inside a gap, half the harmonic mean of the distances to both ends
};

/// How far a batch size is from the samples, in doublings of the batch. Pure.
Distance distance_at(std::span<const TimeSample> samples, double batch_size);

}  // namespace ridgeline::analysis
