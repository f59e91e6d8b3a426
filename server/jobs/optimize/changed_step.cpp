#include "jobs/optimize/changed_step.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "analysis/time/models.h"
#include "step/changes/prediction_error.h"

namespace ridgeline::jobs {

namespace {

using Steps = std::vector<std::vector<std::int64_t>>;  // by rank

constexpr std::size_t kSamples = 500;
constexpr double kTail = 0.025;

/// The median, in milliseconds, of the chosen steps over all ranks.
double median_of(const Steps& by_rank, const std::vector<std::size_t>& chosen) {
  std::vector<double> all;
  for (const std::vector<std::int64_t>& steps : by_rank) {
    for (const std::size_t step : chosen) {
      all.push_back(static_cast<double>(steps[step]) / 1e6);
    }
  }
  return analysis::median(all);
}

std::pair<double, double> tails(std::vector<double> values) {
  std::ranges::sort(values);
  const auto cut = static_cast<std::size_t>(kTail * static_cast<double>(values.size()));
  return {values[cut], values[values.size() - 1 - cut]};
}

struct Spread {
  std::pair<double, double> ms;
  std::pair<double, double> speed_up;
};

/// What the medians are when other steps had been recorded.
Spread spread_of(const Steps& unchanged, const Steps& changed) {
  std::mt19937 random(1);  // the same answer for the same file
  const std::size_t count = unchanged.front().size();
  std::vector<std::size_t> chosen(count);
  std::vector<double> steps;
  std::vector<double> speed_ups;
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    for (std::size_t& step : chosen) {
      step = random() % count;
    }
    steps.push_back(median_of(changed, chosen));
    speed_ups.push_back(median_of(unchanged, chosen) / steps.back());
  }
  return {tails(std::move(steps)), tails(std::move(speed_ups))};
}

/// The interval of the samples, widened by an error of the value itself.
analysis::Measured widened(double value, std::pair<double, double> sampled, double error) {
  const double below = std::max(0.0, value - sampled.first);
  const double above = std::max(0.0, sampled.second - value);
  return {value, std::max(0.0, value - std::hypot(below, error)), value + std::hypot(above, error)};
}

analysis::ChangedStep one_step(const RecordedJob& job, const Replay& unchanged, const Replay& changed) {
  const double before = median_step_ms(unchanged.step_ns);
  const double after = median_step_ms(changed.step_ns);
  const double replay_error = before / median_step_ms(job.recorded_ns) - 1;
  const double error = std::hypot(step::kLeastError, replay_error, step::kSystematicShare * (before - after) / after);
  const Spread spread = spread_of(unchanged.step_ns, changed.step_ns);
  return {{},
          widened(after, spread.ms, error * after),
          widened(before / after, spread.speed_up, error * before / after),
          {}};
}

void include(analysis::Measured& interval, const analysis::Measured& other) {
  interval.low = std::min(interval.low, other.low);
  interval.high = std::max(interval.high, other.high);
}

}  // namespace

double median_step_ms(const Steps& by_rank) {
  std::vector<double> all;
  for (const std::vector<std::int64_t>& steps : by_rank) {
    for (const std::int64_t ns : steps) {
      all.push_back(static_cast<double>(ns) / 1e6);
    }
  }
  return analysis::median(all);
}

analysis::ChangedStep changed_step(const RecordedJob& job, const Replay& unchanged,
                                   const std::vector<Replay>& changed) {
  analysis::ChangedStep likely = one_step(job, unchanged, changed.front());
  for (std::size_t i = 1; i < changed.size(); ++i) {
    const analysis::ChangedStep other = one_step(job, unchanged, changed[i]);
    include(likely.step_ms, other.step_ms);
    include(likely.speed_up, other.speed_up);
  }
  return likely;
}

}  // namespace ridgeline::jobs
