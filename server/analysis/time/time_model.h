// Iteration time against batch size: a line or, where the samples bend, pieces that meet; with intervals that hold.
//
// Skyline (UIST 2020), equation 1, R(B) = aB + b, by weighted least squares: errors are taken as parts of the value,
// since both the machine's noise and what a line misses grow with it. Where a sample lies off the line by more than its
// noise explains, the slope may change at sampled sizes (a linear spline). Definitions:
// docs/dev/measurement/batch-sizes.md.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// Samples by batch size, ascending, each size once, with positive times. Needs two; else nothing. Pure.
///
/// `covariance` is that of the spline's coefficients (value at size 0 and slope of the first piece, then the change of
/// slope at each knot), row by row, sizes in samples and values as parts of the predicted ones.
std::optional<TimeModel> fit_time_model(std::span<const TimeSample> samples);

/// The iteration time at a batch size, ms, with the interval of one new measurement; without an interval when the model
/// is of two samples. At a sampled size it is what was measured there. Elsewhere the interval grows with the distance
/// from the samples, at a rate that comes from leave-one-out errors, and by what regimes between them may add.
Estimate time_at(const TimeModel& model, double batch_size);

/// How far the model may be off at a batch size because of its distance from the samples, as a part of the time: one
/// standard deviation, and what regimes may add. 0 at a sample; infinity with two samples.
double uncertainty_at(const TimeModel& model, double batch_size);

/// What parts of the iteration take at any batch size, as pieces like the model's. Each of `parts` holds what that part
/// took at each of `model.measured`. Parts that sum to the samples' times have pieces that sum to the model's, but for
/// rounding.
std::vector<std::vector<Piece>> fit_parts(const TimeModel& model, std::span<const std::vector<double>> parts);

}  // namespace ridgeline::analysis
