// Linear programs of few variables and many rows, solved exactly: the revised simplex method on the dual.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace ridgeline::jobs {

struct Term {
  std::size_t variable = 0;
  double factor = 0;  ///< 0: the term is none
};

/// The sum of the terms, each of another variable, is at most the bound.
struct Row {
  std::array<Term, 5> terms{};
  double bound = 0;
};

struct Optimum {
  enum class Outcome {
    kFound,
    kUnbounded,   ///< there is no largest value, or the rows contradict each other
    kInfeasible,  ///< the rows contradict each other
    kNotSolved,   ///< more steps than are allowed
  };
  Outcome outcome = Outcome::kNotSolved;
  std::vector<double> variables{};  ///< when found
  double value = 0;                 ///< when found: sum of gain × variable
  /// When found: places of rows that hold with equality in every optimum, enough of them to decide the value.
  std::vector<std::size_t> deciding{};
};

/// Maximises the sum of gain × variable; variables may be negative, and each is bounded by the rows. Each row holds up
/// to rounding, of about 1e-10 of the largest bound. The gain is perturbed by up to 2e-8 of its largest, so that of
/// optima of nearly the same value any may be found. The optimality conditions are what ends the search, so that an
/// optimum found is one.
Optimum maximise(const std::vector<double>& gain, const std::vector<Row>& rows);

/// The rank of the rows, taken as equations in the first `variables` variables.
std::size_t rank_of(const std::vector<Row>& rows, std::size_t variables);

}  // namespace ridgeline::jobs
