#include "cluster/linear_program.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace ridgeline::cluster {

namespace {

using Outcome = Optimum::Outcome;

/// Smaller pivots, of rows that are nearly the same, would spoil the basis: the second only where there is no other.
constexpr std::array<double, 2> kLeastPivots = {1e-5, 1e-9};
constexpr double kLeastGain = 1e-9;  ///< of a step that makes the dual feasible
constexpr int kMostSteps = 20'000;
constexpr int kStalledSteps = 30;  ///< without progress, before Bland's rule, which cannot cycle, takes over

/// The dual: minimise the sum of bound × y over y ≥ 0 whose columns, the rows of the program, sum to the gain. Columns
/// from rows.size() on are artificial, one for each variable; the multipliers are the variables of the program.
class Dual {
 public:
  Dual(const std::vector<double>& gain, const std::vector<Row>& rows)
      : rows_(rows), gain_(Eigen::Map<const Eigen::VectorXd>(gain.data(), static_cast<Eigen::Index>(gain.size()))) {
    double largest = 1;
    for (const Row& row : rows) largest = std::max(largest, std::abs(row.bound));
    tolerance_ = 1e-10 * largest;
    for (std::size_t variable = 0; variable < gain.size(); ++variable) basis_.push_back(rows.size() + variable);
  }

  Optimum solve() {
    artificial_costs_ = true;
    const Outcome feasible = descend();
    if (feasible != Outcome::kFound) return {.outcome = Outcome::kNotSolved};
    if (cost() > negligible()) return {.outcome = Outcome::kUnbounded};
    artificial_costs_ = false;
    const Outcome outcome = descend();
    if (outcome != Outcome::kFound) return {.outcome = outcome};
    if (level_.minCoeff() < -negligible()) return {.outcome = Outcome::kNotSolved};
    return {.outcome = outcome,
            .variables = {multipliers_.data(), multipliers_.data() + multipliers_.size()},
            .value = multipliers_.dot(gain_)};
  }

 private:
  /// Of levels.
  double negligible() const { return 1e-7 * (1 + gain_.lpNorm<1>()); }

  bool is_artificial(std::size_t column) const { return column >= rows_.size(); }

  double cost_of(std::size_t column) const {
    if (is_artificial(column)) return artificial_costs_ ? 1 : 0;
    return artificial_costs_ ? 0 : rows_[column].bound;
  }

  double cost() const {
    double sum = 0;
    for (std::size_t place = 0; place < basis_.size(); ++place) {
      sum += cost_of(basis_[place]) * level_[static_cast<Eigen::Index>(place)];
    }
    return sum;
  }

  Eigen::VectorXd column_of(std::size_t column) const {
    Eigen::VectorXd values = Eigen::VectorXd::Zero(gain_.size());
    if (is_artificial(column)) {
      const auto variable = static_cast<Eigen::Index>(column - rows_.size());
      values[variable] = gain_[variable] < 0 ? -1 : 1;
    } else {
      for (const Term& term : rows_[column].terms) values[static_cast<Eigen::Index>(term.variable)] += term.factor;
    }
    return values;
  }

  /// Levels of the basis and multipliers.
  void refresh() {
    const Eigen::Index size = gain_.size();
    Eigen::MatrixXd matrix(size, size);
    Eigen::VectorXd costs(size);
    for (Eigen::Index place = 0; place < size; ++place) {
      matrix.col(place) = column_of(basis_[static_cast<std::size_t>(place)]);
      costs[place] = cost_of(basis_[static_cast<std::size_t>(place)]);
    }
    factors_.compute(matrix);
    level_ = factors_.solve(gain_);
    multipliers_ = factors_.transpose().solve(costs);
  }

  /// The row that is violated most, or with Bland's rule the first.
  std::optional<std::size_t> entering(bool bland) const {
    std::optional<std::size_t> best;
    double lowest = artificial_costs_ ? -kLeastGain : -tolerance_;
    for (std::size_t column = 0; column < rows_.size(); ++column) {
      double reduced = artificial_costs_ ? 0 : rows_[column].bound;
      for (const Term& term : rows_[column].terms) {
        reduced -= term.factor * multipliers_[static_cast<Eigen::Index>(term.variable)];
      }
      if (reduced < lowest) {
        best = column;
        lowest = reduced;
        if (bland) break;
      }
    }
    return best;
  }

  /// The place in the basis whose level reaches 0 first. An artificial column at 0 leaves as soon as it can.
  std::optional<std::size_t> leaving(const Eigen::VectorXd& direction, double least_pivot, bool bland) const {
    std::optional<std::size_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t place = 0; place < basis_.size(); ++place) {
      const double fall = direction[static_cast<Eigen::Index>(place)];
      const bool leftover = !artificial_costs_ && is_artificial(basis_[place]);
      if (!(fall > least_pivot || (leftover && fall < -least_pivot))) continue;
      const double ratio = leftover ? 0 : std::max(0.0, level_[static_cast<Eigen::Index>(place)]) / fall;
      const bool ties = best.has_value() && std::abs(ratio - least) <= 1e-12 * (1 + least);
      const bool preferred = ties && (bland ? basis_[place] < basis_[*best]
                                            : std::abs(fall) > std::abs(direction[static_cast<Eigen::Index>(*best)]));
      if (!best.has_value() || (ties ? preferred : ratio < least)) {
        best = place;
        least = ratio;
      }
    }
    return best;
  }

  Outcome descend() {
    double lowest = std::numeric_limits<double>::infinity();
    int stalled = 0;
    for (int step = 0; step < kMostSteps; ++step) {
      refresh();
      const double now = cost();
      stalled = now < lowest - 1e-12 * std::abs(lowest) ? 0 : stalled + 1;
      lowest = std::min(lowest, now);
      const bool bland = stalled > kStalledSteps;
      const auto column = entering(bland);
      if (!column.has_value()) return Outcome::kFound;
      const Eigen::VectorXd direction = factors_.solve(column_of(*column));
      auto place = leaving(direction, kLeastPivots[0], bland);
      if (!place.has_value()) place = leaving(direction, kLeastPivots[1], bland);
      if (!place.has_value()) return Outcome::kInfeasible;
      basis_[*place] = *column;
    }
    return Outcome::kNotSolved;
  }

  const std::vector<Row>& rows_;
  Eigen::VectorXd gain_;
  std::vector<std::size_t> basis_;
  bool artificial_costs_ = true;
  double tolerance_ = 0;
  Eigen::PartialPivLU<Eigen::MatrixXd> factors_;
  Eigen::VectorXd level_;
  Eigen::VectorXd multipliers_;
};

}  // namespace

Optimum maximise(const std::vector<double>& gain, const std::vector<Row>& rows) { return Dual(gain, rows).solve(); }

}  // namespace ridgeline::cluster
