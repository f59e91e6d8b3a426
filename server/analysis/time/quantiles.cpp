#include "analysis/time/quantiles.h"

#include <algorithm>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/policies/policy.hpp>

namespace ridgeline::analysis {

namespace {

namespace policies = boost::math::policies;

/// Errors give NaN or infinity: by default they throw, and an odd profile must not end the daemon. Nothing here needs
/// more than a double's precision. A discrete quantile is the largest whole number that does not exceed it.
using Quiet = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>, policies::evaluation_error<policies::ignore_error>,
    policies::rounding_error<policies::ignore_error>, policies::indeterminate_result_error<policies::ignore_error>,
    policies::promote_double<false>, policies::discrete_quantile<policies::integer_round_down>>;

constexpr double kLevel = 0.95;
constexpr double kTail = 0.025;  ///< on each side of such an interval

}  // namespace

double normal(double level) {
  return boost::math::quantile(boost::math::normal_distribution<double, Quiet>(), (1 + level) / 2);
}

double student_t(double level, int degrees) {
  const boost::math::students_t_distribution<double, Quiet> distribution(std::max(degrees, 1));
  return boost::math::quantile(distribution, (1 + level) / 2);
}

double normal95() {
  static const double quantile = normal(kLevel);
  return quantile;
}

double student_t95(int degrees) { return student_t(kLevel, degrees); }

std::size_t median_rank95(std::size_t count) {
  const boost::math::binomial_distribution<double, Quiet> distribution(static_cast<double>(count), 0.5);
  const double rank = boost::math::quantile(distribution, kTail);
  return rank > 0 ? std::min(static_cast<std::size_t>(rank), (count - 1) / 2) : 0;
}

}  // namespace ridgeline::analysis
