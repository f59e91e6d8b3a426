#include "analysis/time/time_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>

#include "analysis/time/models.h"
#include "analysis/time/time_doubt.h"

namespace ridgeline::analysis {

namespace {

/// A sample that lies so far off the model, as a part of its time, is a bend of the data, unless noise explains it.
constexpr double kBend = 0.015;
constexpr double kNoiseSds = 2.5;
/// What a real step lies off its model next to a sample, as far as no residual says otherwise; and how many residuals
/// that is worth. What it lies off farther away is in the doubts.
constexpr double kPriorSd = 0.01;
constexpr int kPriorDegrees = 3;
constexpr std::size_t kMostKnots = 8;
/// No machine repeats a time more closely, as a part of it.
constexpr double kLeastNoise = 0.005;
constexpr double kBeyondAll = std::numeric_limits<double>::infinity();

using Vector = std::vector<double>;

/// A symmetric matrix, row by row.
struct Matrix {
  std::size_t size = 0;
  Vector cells;
  double& at(std::size_t row, std::size_t column) { return cells[row * size + column]; }
  double at(std::size_t row, std::size_t column) const { return cells[row * size + column]; }
};

/// Gauss and Jordan, with the columns brought to one scale first. Nothing when it is singular to working precision.
std::optional<Matrix> inverse(Matrix matrix) {
  const std::size_t size = matrix.size;
  Vector scale(size);
  for (std::size_t i = 0; i < size; ++i) {
    scale[i] = matrix.at(i, i) > 0 ? 1 / std::sqrt(matrix.at(i, i)) : 1;
  }
  Matrix result{size, Vector(size * size)};
  for (std::size_t i = 0; i < size; ++i) {
    result.at(i, i) = 1;
    for (std::size_t j = 0; j < size; ++j) {
      matrix.at(i, j) *= scale[i] * scale[j];
    }
  }
  for (std::size_t column = 0; column < size; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < size; ++row) {
      pivot = std::abs(matrix.at(row, column)) > std::abs(matrix.at(pivot, column)) ? row : pivot;
    }
    if (std::abs(matrix.at(pivot, column)) < 1e-13) {
      return std::nullopt;
    }
    for (std::size_t j = 0; j < size && pivot != column; ++j) {
      std::swap(matrix.at(pivot, j), matrix.at(column, j));
      std::swap(result.at(pivot, j), result.at(column, j));
    }
    const double divisor = matrix.at(column, column);
    for (std::size_t j = 0; j < size; ++j) {
      matrix.at(column, j) /= divisor;
      result.at(column, j) /= divisor;
    }
    for (std::size_t row = 0; row < size; ++row) {
      const double factor = row == column ? 0 : matrix.at(row, column);
      for (std::size_t j = 0; j < size && factor != 0; ++j) {
        matrix.at(row, j) -= factor * matrix.at(column, j);
        result.at(row, j) -= factor * result.at(column, j);
      }
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      result.at(i, j) *= scale[i] * scale[j];
    }
  }
  return result;
}

using Knots = std::vector<int>;

/// The spline's coefficients are those of 1, x and max(0, x - knot) for each knot.
Vector basis(const Knots& knots, double x) {
  Vector row = {1, x};
  for (const int knot : knots) {
    row.push_back(std::max(0.0, x - knot));
  }
  return row;
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

Vector times(const Matrix& matrix, const Vector& vector) {
  Vector result(matrix.size);
  for (std::size_t i = 0; i < matrix.size; ++i) {
    for (std::size_t j = 0; j < matrix.size; ++j) {
      result[i] += matrix.at(i, j) * vector[j];
    }
  }
  return result;
}

/// Least squares of values at the samples' sizes; each counts by the inverse square of the sample's time.
Vector coefficients_of(const Knots& knots, const Matrix& covariance, std::span<const TimeSample> samples,
                       std::span<const double> values) {
  Vector moments(covariance.size);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Vector row = basis(knots, samples[i].batch_size);
    const double weight = 1 / (samples[i].ms.value * samples[i].ms.value);
    for (std::size_t j = 0; j < row.size(); ++j) {
      moments[j] += weight * row[j] * values[i];
    }
  }
  return times(covariance, moments);
}

struct Spline {
  Knots knots;
  Matrix covariance;
  Vector coefficients;
  Vector residuals;  ///< of each sample, as a part of its time
  double squares = 0;
};

std::optional<Spline> fit_spline(Knots knots, std::span<const TimeSample> samples, std::span<const double> values) {
  const std::size_t size = knots.size() + 2;
  Matrix moments{size, Vector(size * size)};
  for (const TimeSample& sample : samples) {
    const Vector row = basis(knots, sample.batch_size);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        moments.at(i, j) += row[i] * row[j] / (sample.ms.value * sample.ms.value);
      }
    }
  }
  auto covariance = inverse(std::move(moments));
  if (!covariance.has_value()) {
    return std::nullopt;
  }
  Spline spline{std::move(knots), std::move(*covariance), {}, {}, 0};
  spline.coefficients = coefficients_of(spline.knots, spline.covariance, samples, values);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double fitted = dot(spline.coefficients, basis(spline.knots, samples[i].batch_size));
    spline.residuals.push_back((values[i] - fitted) / samples[i].ms.value);
    spline.squares += spline.residuals.back() * spline.residuals.back();
  }
  return spline;
}

bool bends(const Spline& spline, std::span<const TimeSample> samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::abs(spline.residuals[i]) > std::max(kBend, kNoiseSds * noise_of(samples[i], samples))) {
      return true;
    }
  }
  return false;
}

/// Knots at sampled sizes, one after the other where it helps most, until no sample is off.
Spline with_knots(Spline spline, std::span<const TimeSample> samples, std::span<const double> values) {
  while (bends(spline, samples) && spline.knots.size() < kMostKnots) {
    std::optional<Spline> best;
    for (std::size_t i = 1; i + 1 < samples.size(); ++i) {
      Knots knots = spline.knots;
      const auto place = std::ranges::lower_bound(knots, samples[i].batch_size);
      if (place != knots.end() && *place == samples[i].batch_size) {
        continue;
      }
      knots.insert(place, samples[i].batch_size);
      auto candidate = fit_spline(std::move(knots), samples, values);
      if (candidate.has_value() && (!best.has_value() || candidate->squares < best->squares)) {
        best = std::move(candidate);
      }
    }
    if (!best.has_value()) {
      break;
    }
    spline = std::move(*best);
  }
  return spline;
}

std::vector<Piece> pieces_of(const Knots& knots, const Vector& coefficients) {
  std::vector<Piece> pieces = {{1, coefficients[1], coefficients[0]}};
  for (std::size_t i = 0; i < knots.size(); ++i) {
    const double bend = coefficients[i + 2];
    pieces.push_back({knots[i], pieces.back().slope + bend, pieces.back().intercept - bend * knots[i]});
  }
  return pieces;
}

Knots knots_of(const TimeModel& model) {
  Knots knots;
  for (std::size_t i = 1; i < model.pieces.size(); ++i) {
    knots.push_back(model.pieces[i].from_batch);
  }
  return knots;
}

Matrix covariance_of(const TimeModel& model) { return {model.pieces.size() + 1, model.covariance}; }

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
  Vector values;
  for (const TimeSample& sample : samples) {
    values.push_back(sample.ms.value);
  }
  const auto in_order = [](const TimeSample& a, const TimeSample& b) { return a.batch_size < b.batch_size; };
  if (samples.size() < 2 || std::ranges::adjacent_find(samples, std::not_fn(in_order)) != samples.end()) {
    return std::nullopt;
  }
  auto line = fit_spline({}, samples, values);
  return line.has_value() ? std::optional(with_knots(std::move(*line), samples, values)) : std::nullopt;
}

/// How far a sample lies off the model of others, as a part of its time.
double error_of(std::span<const TimeSample> others, const TimeSample& sample) {
  const auto spline = spline_of(others);
  return spline ? dot(spline->coefficients, basis(spline->knots, sample.batch_size)) / sample.ms.value - 1 : 0;
}

/// The interval of one new measurement where one was made already.
Estimate measured_again(const TimeSample& sample, const TimeModel& model) {
  const double noise = std::numbers::sqrt2 * std::max(kLeastNoise, noise_of(sample, model.measured));
  const double half = kNormal95 * noise * sample.ms.value;
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
  const double right = is_last ? kBeyondAll : after->batch_size;
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

std::optional<TimeModel> fit_time_model(std::span<const TimeSample> samples) {
  std::optional<Spline> spline = spline_of(samples);
  if (!spline.has_value()) {
    return std::nullopt;
  }
  double noise = 0;
  for (const TimeSample& sample : samples) {
    const double sd = noise_of(sample, samples);
    noise += sd * sd / static_cast<double>(samples.size());
  }
  TimeModel model;
  model.pieces = pieces_of(spline->knots, spline->coefficients);
  round_off(model.pieces, samples);
  model.r2 = r2_of(samples, *spline);
  model.samples = static_cast<int>(samples.size());
  model.degrees = kPriorDegrees + model.samples - static_cast<int>(spline->coefficients.size());
  const double prior = kPriorDegrees * (kPriorSd * kPriorSd + noise);
  model.relative_sd = std::sqrt((prior + spline->squares) / model.degrees);
  model.covariance = spline->covariance.cells;
  model.measured.assign(samples.begin(), samples.end());
  if (samples.size() > 2) {
    model.doubts = doubts_of(samples, error_of(samples.subspan(1), samples.front()),
                             error_of(samples.first(samples.size() - 1), samples.back()));
  }
  return model;
}

double doubt_at(const TimeModel& model, double batch_size) {
  if (model.doubts.empty()) {
    return std::numeric_limits<double>::infinity();
  }
  const Distance distance = distance_at(model.measured, batch_size);
  const double value = value_at(model.pieces, batch_size);
  const auto [less, more] = regime_steps(model, batch_size);
  return distance.octaves == 0
             ? 0
             : model.doubts[distance.gap] * distance.octaves + (value > 0 ? std::max(less, more) / value : 0);
}

Estimate time_at(const TimeModel& model, double batch_size) {
  Estimate estimate{value_at(model.pieces, batch_size), std::nullopt};
  const auto sampled = std::ranges::find(
      model.measured, batch_size, [](const TimeSample& sample) { return static_cast<double>(sample.batch_size); });
  if (model.doubts.empty()) {
    return estimate;
  }
  if (sampled != model.measured.end()) {
    return measured_again(*sampled, model);
  }
  const Vector row = basis(knots_of(model), batch_size);
  const Distance distance = distance_at(model.measured, batch_size);
  const double doubt = estimate.value * model.doubts[distance.gap] * distance.octaves;
  const double of_fit = estimate.value * estimate.value + dot(row, times(covariance_of(model), row));
  const double half =
      student_t95(model.degrees) * std::sqrt(model.relative_sd * model.relative_sd * of_fit + doubt * doubt);
  const auto [less, more] = regime_steps(model, batch_size);
  estimate.interval = Interval{estimate.value - half - less, estimate.value + half + more};
  return estimate;
}

std::vector<Piece> fit_part(const TimeModel& model, std::span<const TimeSample> samples,
                            std::span<const double> values) {
  const Knots knots = knots_of(model);
  return pieces_of(knots, coefficients_of(knots, covariance_of(model), samples, values));
}

}  // namespace ridgeline::analysis
