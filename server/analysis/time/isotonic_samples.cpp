#include "analysis/time/isotonic_samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "analysis/time/quantiles.h"
#include "analysis/time/uncertainty.h"

namespace ridgeline::analysis {

namespace {

constexpr double kLeastSd = 0.005;  ///< relative; no machine repeats a time more closely
/// A sample counts as evidence of a speed-up only if half its 95 % interval is within this share of it.
constexpr double kPrecise = 0.1;
constexpr double kSmall = 0.015;  ///< relative; differences this small occur on any machine
constexpr double kMoved = 0.2;

/// Adjacent samples that are assumed to have the same time.
struct Pool {
  double ms = 0;
  double weight = 0;  ///< inverse variance
  std::size_t count = 1;

  double sd() const { return 1 / std::sqrt(weight); }
};

Pool pooled(const Pool& a, const Pool& b) {
  const double weight = a.weight + b.weight;
  return {(a.ms * a.weight + b.ms * b.weight) / weight, weight, a.count + b.count};
}

bool is_known_fall(const Pool& before, const Pool& after) {
  const auto is_precise = [](const Pool& pool) { return normal95() * pool.sd() <= kPrecise * pool.ms; };
  const double reach = std::max(normal95() * std::hypot(before.sd(), after.sd()), kSmall * before.ms);
  return is_precise(before) && is_precise(after) && before.ms - after.ms > reach;
}

}  // namespace

std::vector<TimeSample> isotonic_samples(std::span<const TimeSample> samples) {
  const Noise noise(samples);
  std::vector<Pool> pools;
  for (const TimeSample& sample : samples) {
    const double sd = std::max(kLeastSd, noise.of(sample)) * sample.ms.value;
    Pool pool{sample.ms.value, 1 / (sd * sd)};
    while (!pools.empty() && pools.back().ms > pool.ms && !is_known_fall(pools.back(), pool)) {
      pool = pooled(pools.back(), pool);
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::vector<TimeSample> isotonic(samples.begin(), samples.end());
  auto sample = isotonic.begin();
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i, ++sample) {
      if (pool.count > 1) {
        sample->ms = {pool.ms, std::min(pool.ms, sample->ms.low), std::max(pool.ms, sample->ms.high)};
      }
    }
  }
  return isotonic;
}

bool was_disturbed(const TimeSample& measured, const TimeSample& isotonic) {
  return std::abs(isotonic.ms.value - measured.ms.value) > kMoved * measured.ms.value;
}

}  // namespace ridgeline::analysis
