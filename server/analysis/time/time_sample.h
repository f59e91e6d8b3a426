// The bare times of one batch size in figures: median, interval, noise, outliers.
#pragma once

#include <span>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// `times_ns` were taken in rounds of `per_round`, in turns with other batch sizes; needs one of them, and `per_round`
/// of at least 1.
///
/// The interval is that of the rounds' medians: iterations of one round are correlated, and taken as
/// independent they would give too narrow an interval. The A/A noise is the difference between two halves of the
/// measurement that were made in the same way. An outlier lies 5 standard deviations (by the median absolute deviation)
/// and a fifth above the median. Pure.
TimeSample time_sample(int batch_size, std::span<const double> times_ns, int per_round);

}  // namespace ridgeline::analysis
