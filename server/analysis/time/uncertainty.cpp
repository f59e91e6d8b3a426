#include "analysis/time/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "analysis/time/models.h"
#include "analysis/time/quantiles.h"

namespace ridgeline::analysis {

namespace {

/// The prior of the rates, and how many errors it weighs as much as. Half way between two samples that are an octave
/// apart the inner one makes 3 %; an octave beyond the samples the outer one makes 6 %.
constexpr double kInnerPrior = 0.12;
constexpr double kOuterPrior = 0.06;
constexpr double kPriorWeight = 2;

double squared(double value) { return value * value; }

double octaves(double from, double to) { return std::log2(to / from); }

/// The distance of a place in a gap from the samples, by its distances from the two ends.
double between(double left, double right) { return left * right / (left + right); }

/// The squared rate of each inner sample: how far it lies off the chord of its neighbours, less what noise explains,
/// per unit of its distance from them.
std::vector<double> inner_rates(std::span<const TimeSample> samples) {
  const Noise all(samples);
  std::vector<double> rates(samples.size());
  for (std::size_t i = 1; i + 1 < samples.size(); ++i) {
    const TimeSample& before = samples[i - 1];
    const TimeSample& after = samples[i + 1];
    const double real = samples[i].ms.value;
    const double part = static_cast<double>(samples[i].batch_size - before.batch_size) /
                        static_cast<double>(after.batch_size - before.batch_size);
    const double chord = before.ms.value + part * (after.ms.value - before.ms.value);
    const double noise = squared(all.of(samples[i])) + squared((1 - part) * before.ms.value / real * all.of(before)) +
                         squared(part * after.ms.value / real * all.of(after));
    const double distance =
        between(octaves(before.batch_size, samples[i].batch_size), octaves(samples[i].batch_size, after.batch_size));
    rates[i] = std::max(0.0, squared(chord / real - 1) - noise) / squared(distance);
  }
  return rates;
}

double middle_of(std::span<const TimeSample> samples, std::size_t gap) {
  return std::sqrt(static_cast<double>(samples[gap].batch_size) * samples[gap + 1].batch_size);
}

double outer_rate(const TimeSample& end, const TimeSample& next, double error, const Noise& all) {
  const double distance = std::abs(octaves(end.batch_size, next.batch_size));
  const double noise = squared(all.of(end));
  const double rate = std::max(0.0, squared(error) - noise) / squared(std::max(distance, 0.5));
  return std::sqrt((kPriorWeight * squared(kOuterPrior) + rate) / (kPriorWeight + 1));
}

}  // namespace

Noise::Noise(std::span<const TimeSample> samples) {
  constexpr double kUnusual = 5;
  constexpr double kQuietest = 0.005;
  std::vector<double> noises;
  for (const TimeSample& sample : samples) {
    noises.push_back(sample.aa_noise);
  }
  most_usual_ = kUnusual * std::max(kQuietest, median(noises));
  double squares = 0;
  double count = 0;
  for (const double noise : noises) {
    squares += noise <= most_usual_ ? squared(noise) : 0;
    count += noise <= most_usual_ ? 1 : 0;
  }
  usual_ = count > 0 ? std::sqrt(squares / count) : 0;
}

double Noise::of(const TimeSample& sample) const {
  const double own = sample.aa_noise > most_usual_ ? sample.aa_noise : 0;
  // Two halves of a measurement differ by two of its standard deviations.
  return std::max((sample.ms.high - sample.ms.low) / 2 / sample.ms.value / normal95(), std::max(own, usual_) / 2);
}

std::vector<double> uncertainty_rates(std::span<const TimeSample> samples, double low_error, double high_error) {
  const std::size_t last = samples.size() - 1;
  const std::vector<double> rates = inner_rates(samples);
  const Noise all(samples);
  // A bend in a gap moves both of its ends off the chords of their neighbours: the smaller of the two rates is the
  // gap's, since the larger one may come from the next gap.
  std::vector<double> gaps;
  for (std::size_t gap = 0; gap < last; ++gap) {
    gaps.push_back(std::min(rates[std::max<std::size_t>(gap, 1)], rates[std::min(gap + 1, last - 1)]));
  }
  std::vector<double> result = {outer_rate(samples[0], samples[1], low_error, all)};
  for (std::size_t gap = 0; gap < last; ++gap) {
    double sum = kPriorWeight * squared(kInnerPrior);
    double weights = kPriorWeight;
    for (std::size_t other = 0; other < last; ++other) {
      const double away = std::abs(octaves(middle_of(samples, gap), middle_of(samples, other)));
      sum += std::exp2(-away) * gaps[other];
      weights += std::exp2(-away);
    }
    result.push_back(std::sqrt(std::max(sum / weights, gaps[gap])));
  }
  result.push_back(outer_rate(samples[last], samples[last - 1], high_error, all));
  return result;
}

Distance distance_at(std::span<const TimeSample> samples, double batch_size) {
  const auto after = std::ranges::lower_bound(
      samples, batch_size, {}, [](const TimeSample& sample) { return static_cast<double>(sample.batch_size); });
  const auto gap = static_cast<std::size_t>(after - samples.begin());
  if (after != samples.end() && after->batch_size == batch_size) {
    return {gap, 0};
  }
  if (after == samples.begin()) {
    return {0, octaves(batch_size, after->batch_size)};
  }
  const double left = octaves((after - 1)->batch_size, batch_size);
  return {gap, after == samples.end() ? left : between(left, octaves(batch_size, after->batch_size))};
}

}  // namespace ridgeline::analysis
