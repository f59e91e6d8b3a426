#include "analysis/time/time_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "analysis/time/models.h"

namespace ridgeline::analysis {

namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kSdOfDeviation = 1.4826;  ///< standard deviation / median absolute deviation, of a normal distribution
constexpr double kOutlierSds = 5;
constexpr double kOutlierPart = 0.2;

Outliers outliers_of(std::span<const double> times, double middle) {
  std::vector<double> deviations;
  for (const double time : times) {
    deviations.push_back(std::abs(time - middle));
  }
  const double spread = kOutlierSds * kSdOfDeviation * median(deviations);
  const double limit = middle + std::max(spread, kOutlierPart * middle);
  Outliers outliers;
  for (const double time : times) {
    if (time > limit) {
      ++outliers.count;
      outliers.worst = std::max(outliers.worst, time / middle);
    }
  }
  return outliers;
}

}  // namespace

TimeSample time_sample(int batch_size, std::span<const double> times_ns, int per_round) {
  const auto size = static_cast<std::size_t>(per_round);
  std::vector<double> rounds;
  std::array<std::vector<double>, 2> halves;
  for (std::size_t first = 0; first < times_ns.size(); first += size) {
    const auto round = times_ns.subspan(first, std::min(size, times_ns.size() - first));
    halves[rounds.size() % 2].insert(halves[rounds.size() % 2].end(), round.begin(), round.end());
    rounds.push_back(median(round));
  }
  const double middle = median(times_ns);
  const Measured of_rounds = median_interval(rounds);
  TimeSample sample;
  sample.batch_size = batch_size;
  sample.ms = {middle / kNsPerMs, std::min(of_rounds.low, middle) / kNsPerMs,
               std::max(of_rounds.high, middle) / kNsPerMs};
  sample.iterations = static_cast<int>(times_ns.size());
  sample.rounds = static_cast<int>(rounds.size());
  if (rounds.size() > 1 && middle > 0) {
    sample.aa_noise = std::abs(median(halves[0]) - median(halves[1])) / middle;
  }
  sample.outliers = outliers_of(times_ns, middle);
  return sample;
}

}  // namespace ridgeline::analysis
