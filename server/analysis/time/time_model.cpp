#include "analysis/time/time_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>

#include "analysis/time/isotonic_samples.h"
#include "analysis/time/models.h"
#include "analysis/time/quantiles.h"
#include "analysis/time/spline.h"
#include "analysis/time/uncertainty.h"

namespace ridgeline::analysis {

namespace {

/// A sample that lies farther off the model, as a part of its time, is a bend in the data, unless noise explains it.
constexpr double kBend = 0.015;
constexpr double kNoiseSds = 2.5;
/// The prior of how far a real step lies off its model next to a sample, as a part of its time, and how many residuals
/// it weighs as much as. How far it lies off elsewhere is in the uncertainty rates.
constexpr double kPriorSd = 0.01;
constexpr int kPriorDegrees = 3;
constexpr std::size_t kMostKnots = 8;
/// The least relative standard deviation of a measured time: no machine repeats one more closely.
constexpr double kLeastNoise = 0.005;
bool misses_a_sample(const Spline& spline, std::span<const TimeSample> samples) {
  const Noise noise(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::abs(spline.residuals[i]) > std::max(kBend, kNoiseSds * noise.of(samples[i]))) {
      return true;
    }
  }
  return false;
}

/// Whether a piece of the spline falls where the samples do not: the price of a better fit elsewhere.
bool falls_alone(const Spline& spline, std::span<const TimeSample> samples) {
  const std::vector<Piece> pieces = pieces_of(spline.knots, spline.coefficients);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const int end = end_of(pieces, i, std::numeric_limits<int>::max() - 1) + 1;
    bool fall = false;
    for (std::size_t j = 1; j < samples.size(); ++j) {
      fall = fall || (samples[j - 1].batch_size < end && samples[j].batch_size > pieces[i].from_batch &&
                      samples[j].ms.value < samples[j - 1].ms.value);
    }
    if (!fall && pieces[i].slope * samples.back().batch_size < -kLeastNoise * samples.front().ms.value) {
      return true;
    }
  }
  return false;
}

/// The spline with one more knot, at the sampled size where it reduces the error most, of those where no piece falls
/// alone if there are any; nothing when none is left.
std::optional<Spline> with_best_knot(const Knots& knots, std::span<const TimeSample> samples,
                                     std::span<const double> times) {
  std::optional<Spline> best;
  bool best_falls = true;
  for (std::size_t i = 1; i + 1 < samples.size(); ++i) {
    const int knot = samples[i].batch_size;
    const auto place = std::ranges::lower_bound(knots, knot);
    if (place != knots.end() && *place == knot) {
      continue;
    }
    Knots candidate = knots;
    candidate.insert(candidate.begin() + (place - knots.begin()), knot);
    std::optional<Spline> fitted = fit_spline(candidate, samples, times);
    if (!fitted) {
      continue;
    }
    const bool falls = falls_alone(*fitted, samples);
    if (!best || falls < best_falls || (falls == best_falls && fitted->squared_error < best->squared_error)) {
      best = std::move(fitted);
      best_falls = falls;
    }
  }
  return best;
}

Knots knots_of(const TimeModel& model) {
  Knots knots;
  for (std::size_t i = 1; i < model.pieces.size(); ++i) {
    knots.push_back(model.pieces[i].from_batch);
  }
  return knots;
}

double r2_of(std::span<const TimeSample> samples, const Spline& spline) {
  double mean = 0;
  for (const TimeSample& sample : samples) {
    mean += sample.ms.value / static_cast<double>(samples.size());
  }
  double residual = 0;
  double total = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double error = spline.residuals[i] * samples[i].ms.value;
    residual += error * error;
    total += (samples[i].ms.value - mean) * (samples[i].ms.value - mean);
  }
  return total > 0 ? std::clamp(1 - residual / total, 0.0, 1.0) : 1;
}

/// What is nothing but rounding is nothing: the signs of slopes and intercepts decide where a model is believed.
void round_off(std::vector<Piece>& pieces, std::span<const TimeSample> samples) {
  constexpr double kRounding = 1e-9;
  for (Piece& piece : pieces) {
    if (std::abs(piece.intercept) < kRounding * samples.front().ms.value) {
      piece.intercept = 0;
    }
    if (std::abs(piece.slope) * samples.back().batch_size < kRounding * samples.back().ms.value) {
      piece.slope = 0;
    }
  }
}

std::optional<Spline> spline_of(std::span<const TimeSample> samples) {
  std::vector<double> times;
  for (const TimeSample& sample : samples) {
    times.push_back(sample.ms.value);
  }
  const auto in_order = [](const TimeSample& a, const TimeSample& b) { return a.batch_size < b.batch_size; };
  if (samples.size() < 2 || std::ranges::adjacent_find(samples, std::not_fn(in_order)) != samples.end()) {
    return std::nullopt;
  }
  std::optional<Spline> spline = fit_spline({}, samples, times);
  std::optional<Spline> rising =
      spline;  // the best one in which no piece falls alone: a line through what rises does not
  while (spline && misses_a_sample(*spline, samples) && spline->knots.size() < kMostKnots) {
    std::optional<Spline> better = with_best_knot(spline->knots, samples, times);
    if (!better.has_value()) {
      break;
    }
    spline = std::move(better);
    rising = falls_alone(*spline, samples) ? rising : spline;
  }
  return rising;
}

/// The leave-one-out error: how far a sample lies off the model of the others, as a part of its time.
double error_of(std::span<const TimeSample> others, const TimeSample& sample) {
  const auto spline = spline_of(others);
  return spline ? spline_at(spline->knots, spline->coefficients, sample.batch_size) / sample.ms.value - 1 : 0;
}

/// Mean variance of a measured time, as a part of it. One that was disturbed counts as three times the median one.
double usual_variance(std::span<const TimeSample> samples) {
  constexpr double kMostTimes = 3;
  const Noise noise(samples);
  std::vector<double> sds;
  for (const TimeSample& sample : samples) {
    sds.push_back(noise.of(sample));
  }
  const double most = kMostTimes * median(sds);
  double variance = 0;
  for (const double sd : sds) {
    variance += std::min(sd, most) * std::min(sd, most) / static_cast<double>(sds.size());
  }
  return variance;
}

/// At a sampled size: its measurement, with the interval of a new one.
Estimate estimate_at_sample(const TimeSample& sample, const TimeModel& model) {
  const double noise = std::numbers::sqrt2 * std::max(kLeastNoise, Noise(model.measured).of(sample));
  const double half = normal95() * noise * sample.ms.value;
  return {sample.ms.value,
          Interval{std::min(sample.ms.low, sample.ms.value - half), std::max(sample.ms.high, sample.ms.value + half)}};
}

/// What regimes that begin between the samples next to a batch size may take from the model's time there, and what they
/// may add, ms: one that began below it is not in what the sample below shows, one that begins above it is in the
/// other. Larger batches have all that smaller ones have, so that neither goes beyond what the samples took.
std::pair<double, double> regime_steps(const TimeModel& model, double batch_size) {
  const auto after = std::ranges::upper_bound(
      model.measured, batch_size, {}, [](const TimeSample& sample) { return static_cast<double>(sample.batch_size); });
  const bool is_first = after == model.measured.begin();
  const bool is_last = after == model.measured.end();
  const double left = is_first ? 0 : (after - 1)->batch_size;
  const double right = is_last ? std::numeric_limits<double>::infinity() : after->batch_size;
  double more = 0;
  double less = 0;
  for (const Regime& regime : model.regimes) {
    if (regime.from_batch > left && regime.from_batch <= batch_size) {
      more += regime.ms * batch_size / regime.from_batch;
    } else if (regime.from_batch > batch_size && regime.from_batch <= right && !is_last) {
      less += regime.ms;
    }
  }
  const double value = value_at(model.pieces, batch_size);
  return {is_first ? less : std::min(less, std::max(0.0, value - (after - 1)->ms.value)),
          is_last ? more : std::min(more, std::max(0.0, after->ms.value - value))};
}

}  // namespace

std::optional<TimeModel> fit_time_model(std::span<const TimeSample> measured) {
  const std::vector<TimeSample> isotonic = isotonic_samples(measured);
  const std::span<const TimeSample> samples = isotonic;
  std::optional<Spline> spline = spline_of(samples);
  if (!spline.has_value()) {
    return std::nullopt;
  }
  const double noise = usual_variance(samples);
  TimeModel model;
  model.pieces = pieces_of(spline->knots, spline->coefficients);
  round_off(model.pieces, samples);
  model.r2 = r2_of(samples, *spline);
  model.samples = static_cast<int>(samples.size());
  model.degrees = kPriorDegrees + model.samples - static_cast<int>(spline->coefficients.size());
  const double prior = kPriorDegrees * (kPriorSd * kPriorSd + noise);
  model.t95 = student_t95(model.degrees);
  model.relative_sd = std::sqrt((prior + spline->squared_error) / model.degrees);
  model.covariance = std::move(spline->covariance);
  model.measured.assign(measured.begin(), measured.end());
  if (samples.size() > 2) {
    model.uncertainty_rates = uncertainty_rates(samples, error_of(samples.subspan(1), samples.front()),
                                                error_of(samples.first(samples.size() - 1), samples.back()));
  }
  return model;
}

double uncertainty_at(const TimeModel& model, double batch_size) {
  if (model.uncertainty_rates.empty()) {
    return std::numeric_limits<double>::infinity();
  }
  const Distance distance = distance_at(model.measured, batch_size);
  if (distance.octaves == 0) {
    return 0;
  }
  const double value = value_at(model.pieces, batch_size);
  const auto [less, more] = regime_steps(model, batch_size);
  return model.uncertainty_rates[distance.gap] * distance.octaves + (value > 0 ? std::max(less, more) / value : 0);
}

Estimate time_at(const TimeModel& model, double batch_size) {
  Estimate estimate{value_at(model.pieces, batch_size), std::nullopt};
  const auto sampled = std::ranges::find(
      model.measured, batch_size, [](const TimeSample& sample) { return static_cast<double>(sample.batch_size); });
  if (model.uncertainty_rates.empty()) {
    return estimate;
  }
  if (sampled != model.measured.end()) {
    return estimate_at_sample(*sampled, model);
  }
  const Distance distance = distance_at(model.measured, batch_size);
  const double away = estimate.value * model.uncertainty_rates[distance.gap] * distance.octaves;
  const double of_fit =
      estimate.value * estimate.value + spline_variance_at(knots_of(model), model.covariance, batch_size);
  const double half = model.t95 * std::sqrt(model.relative_sd * model.relative_sd * of_fit + away * away);
  const auto [less, more] = regime_steps(model, batch_size);
  estimate.interval = Interval{estimate.value - half - less, estimate.value + half + more};
  return estimate;
}

std::vector<std::vector<Piece>> fit_parts(const TimeModel& model, std::span<const std::vector<double>> parts) {
  const Knots knots = knots_of(model);
  const std::vector<TimeSample> isotonic = isotonic_samples(model.measured);
  std::vector<std::vector<double>> scaled(parts.begin(), parts.end());
  for (std::vector<double>& part : scaled) {
    for (std::size_t i = 0; i < isotonic.size(); ++i) {
      part[i] *= isotonic[i].ms.value / model.measured[i].ms.value;
    }
  }
  std::vector<std::vector<Piece>> all;
  for (const std::vector<double>& coefficients : fit_coefficients(knots, isotonic, scaled)) {
    all.push_back(pieces_of(knots, coefficients));
  }
  return all;
}

}  // namespace ridgeline::analysis
