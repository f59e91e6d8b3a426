// The quantiles that intervals are made of, 95 % ones unless a level is named. Boost.Math computes them; none of these
// throws.
#pragma once

#include <cstddef>

namespace ridgeline::analysis {

/// Two-sided 95 % quantile of the normal distribution: 1.95996….
double normal95();

/// Two-sided 95 % quantile of Student's t. Fewer than one degree of freedom count as one.
double student_t95(int degrees);

/// The same of another level, such as 0.99: above 0, below 1.
double normal(double level);
double student_t(double level, int degrees);

/// The index from either end of `count` independent values, sorted, at which values bound the 95 % confidence interval
/// of the median: the largest k with P(X <= k) <= 2.5 %, X binomial with p = 1/2. 0 with fewer than six values, which
/// have no such k. Needs one value.
std::size_t median_rank95(std::size_t count);

}  // namespace ridgeline::analysis
