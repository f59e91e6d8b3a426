#include "analysis/time/spline.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <Eigen/QR>

#include "analysis/time/uncertainty.h"

namespace ridgeline::analysis {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Columns of length 1 that differ by less than this are taken as the same: knots so close to each other say nothing.
constexpr double kSingular = 3e-7;

/// What the coefficients of a spline are multiplied by at x.
double basis(const Knots& knots, std::size_t coefficient, double x) {
  return coefficient == 0 ? 1 : coefficient == 1 ? x : std::max(0.0, x - knots[coefficient - 2]);
}

std::size_t coefficient_count(const Knots& knots) { return knots.size() + 2; }

/// What each error is divided by: the sample's time, so that errors are parts of it; more where it is noisy.
VectorXd scales_of(std::span<const TimeSample> samples) {
  constexpr double kUsualSd = 0.03;
  const Noise noise(samples);
  VectorXd scales(samples.size());
  for (std::size_t row = 0; row < samples.size(); ++row) {
    scales(static_cast<Index>(row)) = samples[row].ms.value * std::max(1.0, noise.of(samples[row]) / kUsualSd);
  }
  return scales;
}

MatrixXd design_of(const Knots& knots, std::span<const TimeSample> samples, const VectorXd& scales) {
  MatrixXd design(samples.size(), coefficient_count(knots));
  for (std::size_t row = 0; row < samples.size(); ++row) {
    for (std::size_t column = 0; column < coefficient_count(knots); ++column) {
      design(static_cast<Index>(row), static_cast<Index>(column)) = basis(knots, column, samples[row].batch_size);
    }
  }
  return scales.cwiseInverse().asDiagonal() * design;
}

VectorXd weighted(std::span<const double> values, const VectorXd& scales) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size())).cwiseQuotient(scales);
}

/// A Householder QR with column pivoting of the design, whose columns are brought to length 1 first: batch sizes are up
/// to some millions, and the rank is judged by what remains of a column.
class Fit {
 public:
  static std::optional<Fit> of(MatrixXd design) {
    const Index columns = design.cols();
    if (design.rows() < columns || !design.allFinite()) {
      return std::nullopt;
    }
    Fit fit;
    fit.scale_.resize(columns);
    for (Index column = 0; column < columns; ++column) {
      const double length = design.col(column).stableNorm();
      fit.scale_(column) = length > 0 ? 1 / length : 1;
      design.col(column) *= fit.scale_(column);
    }
    fit.qr_.setThreshold(kSingular);
    fit.qr_.compute(design);
    return fit.qr_.rank() == columns ? std::optional(std::move(fit)) : std::nullopt;
  }

  VectorXd coefficients(const VectorXd& target) const { return scale_.cwiseProduct(qr_.solve(target)); }

  /// The inverse of the normal equations' matrix.
  MatrixXd covariance() const {
    const Index size = qr_.cols();
    const MatrixXd inverse =
        qr_.matrixR().topRows(size).triangularView<Eigen::Upper>().solve(MatrixXd::Identity(size, size));
    const MatrixXd root = scale_.asDiagonal() * (qr_.colsPermutation() * inverse);
    return root * root.transpose();
  }

 private:
  VectorXd scale_;
  Eigen::ColPivHouseholderQR<MatrixXd> qr_;
};

std::vector<double> values_of(const VectorXd& vector) { return {vector.begin(), vector.end()}; }

}  // namespace

std::optional<Spline> fit_spline(const Knots& knots, std::span<const TimeSample> samples,
                                 std::span<const double> values) {
  const VectorXd scales = scales_of(samples);
  const MatrixXd design = design_of(knots, samples, scales);
  const VectorXd target = weighted(values, scales);
  const std::optional<Fit> fit = Fit::of(design);
  if (!fit.has_value() || !target.allFinite()) {
    return std::nullopt;
  }
  const VectorXd coefficients = fit->coefficients(target);
  const VectorXd errors = target - design * coefficients;
  std::vector<double> residuals;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const auto i = static_cast<Index>(row);
    residuals.push_back(errors(i) * scales(i) / samples[row].ms.value);
  }
  const MatrixXd covariance = fit->covariance();  // symmetric: by columns it is the same as by rows
  return Spline{knots, values_of(coefficients), values_of(covariance.reshaped()), std::move(residuals),
                errors.squaredNorm()};
}

std::vector<std::vector<double>> fit_coefficients(const Knots& knots, std::span<const TimeSample> samples,
                                                  std::span<const std::vector<double>> value_sets) {
  const VectorXd scales = scales_of(samples);
  std::vector<std::vector<double>> all;
  if (const std::optional<Fit> fit = Fit::of(design_of(knots, samples, scales))) {
    for (const std::vector<double>& values : value_sets) {
      all.push_back(values_of(fit->coefficients(weighted(values, scales))));
    }
  }
  return all;
}

double spline_at(const Knots& knots, std::span<const double> coefficients, double x) {
  double value = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    value += coefficients[i] * basis(knots, i, x);
  }
  return value;
}

double spline_variance_at(const Knots& knots, std::span<const double> covariance, double x) {
  const std::size_t size = coefficient_count(knots);
  double variance = 0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      variance += basis(knots, i, x) * covariance[i * size + j] * basis(knots, j, x);
    }
  }
  return variance;
}

std::vector<Piece> pieces_of(const Knots& knots, std::span<const double> coefficients) {
  std::vector<Piece> pieces = {{1, coefficients[1], coefficients[0]}};
  for (std::size_t i = 0; i < knots.size(); ++i) {
    const double bend = coefficients[i + 2];
    pieces.push_back({knots[i], pieces.back().slope + bend, pieces.back().intercept - bend * knots[i]});
  }
  return pieces;
}

}  // namespace ridgeline::analysis
