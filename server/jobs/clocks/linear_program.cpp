#include "jobs/clocks/linear_program.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace ridgeline::jobs {

namespace {

using Outcome = Optimum::Outcome;

constexpr double kLeastPivot = 1e-9;
constexpr double kPerturbation = 1e-8;  ///< of the gain, to its largest
constexpr double kSlip = 1e-10;         ///< by how much a level may fall below 0 so that a larger pivot is taken
constexpr double kLeastGain = 1e-9;     ///< of a step that makes the dual feasible
constexpr int kMostSteps = 5'000;
constexpr int kStalledSteps = 30;  ///< without progress, before Bland's rule, which cannot cycle, takes over

/// The dual: minimise the sum of bound × y over y ≥ 0 whose columns, the rows of the program, sum to the gain. Columns
/// from rows.size() on are artificial, one for each variable; the multipliers are the variables of the program.
class Dual {
 public:
  Dual(const std::vector<double>& gain, const std::vector<Row>& rows)
      : rows_(rows), gain_(Eigen::Map<const Eigen::VectorXd>(gain.data(), static_cast<Eigen::Index>(gain.size()))) {
    double largest = 1;
    for (const Row& row : rows) {
      largest = std::max(largest, std::abs(row.bound));
    }
    tolerance_ = 1e-10 * largest;
    // Levels of 0 would make steps without progress: no two variables get the same small gain on top.
    asked_ = gain_;
    const double scale = kPerturbation * (1 + gain_.lpNorm<Eigen::Infinity>());
    for (Eigen::Index variable = 0; variable < gain_.size(); ++variable) {
      gain_[variable] += scale * (1 + std::fmod(0.618033988749895 * static_cast<double>(variable + 1), 1.0));
    }
    for (std::size_t variable = 0; variable < gain.size(); ++variable) {
      basis_.push_back(rows.size() + variable);
    }
  }

  Optimum solve() {
    artificial_costs_ = true;
    const Outcome feasible = descend();
    if (feasible != Outcome::kFound) {
      return {.outcome = Outcome::kNotSolved};
    }
    if (cost() > negligible()) {
      return {.outcome = Outcome::kUnbounded};
    }
    artificial_costs_ = false;
    const Outcome outcome = descend();
    if (outcome != Outcome::kFound) {
      return {.outcome = outcome};
    }
    if (level_.minCoeff() < -negligible()) {
      return {.outcome = Outcome::kNotSolved};
    }
    return {.outcome = outcome,
            .variables = {multipliers_.data(), multipliers_.data() + multipliers_.size()},
            .value = multipliers_.dot(asked_),
            .deciding = deciding()};
  }

 private:
  /// Rows of which more is asked than the perturbation alone would ask.
  std::vector<std::size_t> deciding() const {
    std::vector<std::size_t> rows;
    const double least = 100 * kPerturbation * (1 + gain_.lpNorm<Eigen::Infinity>());
    for (std::size_t place = 0; place < basis_.size(); ++place) {
      if (!is_artificial(basis_[place]) && level_at(place) > least) {
        rows.push_back(basis_[place]);
      }
    }
    return rows;
  }

  /// The level below which a row counts as unused.
  double negligible() const { return 1e-7 * (1 + gain_.lpNorm<1>()); }

  bool is_artificial(std::size_t column) const { return column >= rows_.size(); }

  double cost_of(std::size_t column) const {
    if (is_artificial(column)) {
      return artificial_costs_ ? 1 : 0;
    }
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
      for (const Term& term : rows_[column].terms) {
        values[static_cast<Eigen::Index>(term.variable)] += term.factor;
      }
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
        if (bland) {
          break;
        }
      }
    }
    return best;
  }

  double level_at(std::size_t place) const { return std::max(0.0, level_[static_cast<Eigen::Index>(place)]); }

  /// The place in the basis whose level reaches 0 first; of several that do so at nearly the same time that with the
  /// largest pivot (Harris), as small pivots, of rows that are nearly the same, spoil the basis.
  std::optional<std::size_t> leaving(const Eigen::VectorXd& direction, bool bland) const {
    double most = std::numeric_limits<double>::infinity();
    for (std::size_t place = 0; place < basis_.size(); ++place) {
      const double fall = direction[static_cast<Eigen::Index>(place)];
      if (fall > kLeastPivot) {
        most = std::min(most, (level_at(place) + kSlip) / fall);
      }
    }
    std::optional<std::size_t> best;
    double pivot = 0;
    for (std::size_t place = 0; place < basis_.size(); ++place) {
      const double fall = direction[static_cast<Eigen::Index>(place)];
      const bool leftover = !artificial_costs_ && is_artificial(basis_[place]);
      if (leftover && std::abs(fall) > kLeastPivot) {
        return place;
      }
      if (fall <= kLeastPivot || level_at(place) / fall > most) {
        continue;
      }
      if (best.has_value() && (bland ? basis_[place] > basis_[*best] : fall <= pivot)) {
        continue;
      }
      best = place;
      pivot = fall;
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
      if (!column.has_value()) {
        return Outcome::kFound;
      }
      const Eigen::VectorXd direction = factors_.solve(column_of(*column));
      const auto place = leaving(direction, bland);
      if (!place.has_value()) {
        return Outcome::kInfeasible;
      }
      basis_[*place] = *column;
    }
    return Outcome::kNotSolved;
  }

  const std::vector<Row>& rows_;
  Eigen::VectorXd gain_;   ///< with the perturbation
  Eigen::VectorXd asked_;  ///< without
  std::vector<std::size_t> basis_;
  bool artificial_costs_ = true;
  double tolerance_ = 0;
  Eigen::PartialPivLU<Eigen::MatrixXd> factors_;
  Eigen::VectorXd level_;
  Eigen::VectorXd multipliers_;
};

}  // namespace

std::size_t rank_of(const std::vector<Row>& rows, std::size_t variables) {
  const auto size = [](std::size_t count) { return static_cast<Eigen::Index>(count); };
  Eigen::MatrixXd equations = Eigen::MatrixXd::Zero(size(rows.size()), size(variables));
  for (std::size_t place = 0; place < rows.size(); ++place) {
    for (const Term& term : rows[place].terms) {
      if (term.variable < variables) {
        equations(size(place), size(term.variable)) += term.factor;
      }
    }
  }
  return static_cast<std::size_t>(Eigen::FullPivLU<Eigen::MatrixXd>(equations).rank());
}

Optimum maximise(const std::vector<double>& gain, const std::vector<Row>& rows) { return Dual(gain, rows).solve(); }

}  // namespace ridgeline::jobs
