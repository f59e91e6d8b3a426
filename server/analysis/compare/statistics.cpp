#include "analysis/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/time/quantiles.h"

namespace ridgeline::analysis {

namespace {

constexpr int kEndless = std::numeric_limits<int>::max();

/// Half of an interval of a logarithm: one that leaves a factor of ten open on either side says nothing.
const double kWidest = std::log(10.0);

struct Moments {
  double mean = 0;
  double variance = 0;  ///< of one value; 0 with a single one
};

Moments moments(std::span<const double> values) {
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    result.mean += value / count;
  }
  for (const double value : values) {
    result.variance += (value - result.mean) * (value - result.mean) / std::max(1.0, count - 1);
  }
  return result;
}

std::vector<double> logarithms(std::span<const ObservedRun> runs) {
  std::vector<double> logs;
  for (const ObservedRun& run : runs) {
    logs.push_back(std::log(run.ms));
  }
  return logs;
}

/// The variance of a side's mean, and the degrees of freedom behind it.
struct MeanError {
  double variance = 0;
  int degrees = kEndless;
};

std::optional<MeanError> error_of(std::span<const ObservedRun> runs) {
  const bool shows_between = runs.size() >= 3;
  double variance = kRunToRun * kRunToRun;
  for (const ObservedRun& run : runs) {
    if (!run.relative_error.has_value()) {
      if (!shows_between) {
        return std::nullopt;
      }
    } else if (!shows_between || *run.relative_error < kNoisyRunToRun) {
      variance = std::max(variance, *run.relative_error * *run.relative_error);
    }
  }
  const auto count = static_cast<double>(runs.size());
  const double between = shows_between ? moments(logarithms(runs)).variance : 0;
  return between > variance ? MeanError{between / count, static_cast<int>(runs.size()) - 1}
                            : MeanError{variance / count};
}

double quantile(double alpha, int degrees) {
  return degrees == kEndless ? normal(1 - alpha) : student_t(1 - alpha, degrees);
}

std::optional<Bounds> bounds_around(double log_ratio, double half_width) {
  if (!(half_width <= kWidest)) {
    return std::nullopt;
  }
  return Bounds{std::expm1(log_ratio - half_width), std::expm1(log_ratio + half_width)};
}

std::optional<Bounds> bounds_of_pairs(std::span<const double> before, std::span<const double> after, double alpha) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < before.size(); ++i) {
    ratios.push_back(after[i] - before[i]);
  }
  const Moments of = moments(ratios);
  const int degrees = static_cast<int>(ratios.size()) - 1;
  const double error = std::sqrt(of.variance / static_cast<double>(ratios.size()));
  return bounds_around(of.mean, quantile(alpha, degrees) * error);
}

Outcome outcome_of(const std::optional<Bounds>& bounds, double margin) {
  if (!bounds.has_value()) {
    return Outcome::kUndecided;
  }
  if (bounds->low > 0 || bounds->high < 0) {
    return Outcome::kDiffers;
  }
  return std::max(-bounds->low, bounds->high) <= margin ? Outcome::kNoDifference : Outcome::kUndecided;
}

}  // namespace

TimeChange time_change(std::span<const ObservedRun> before, std::span<const ObservedRun> after, bool in_turns,
                       double alpha, double margin) {
  const std::vector<double> before_logs = logarithms(before);
  const std::vector<double> after_logs = logarithms(after);
  const double before_mean = moments(before_logs).mean;
  const double after_mean = moments(after_logs).mean;
  TimeChange change{std::exp(before_mean), std::exp(after_mean), std::expm1(after_mean - before_mean), std::nullopt};
  if (in_turns && before.size() == after.size() && before.size() > 1) {
    change.bounds = bounds_of_pairs(before_logs, after_logs, alpha);
  } else if (const auto of_before = error_of(before), of_after = error_of(after); of_before && of_after) {
    const double error = std::sqrt(of_before->variance + of_after->variance);
    const int degrees = std::min(of_before->degrees, of_after->degrees);
    change.bounds = bounds_around(after_mean - before_mean, quantile(alpha, degrees) * error);
  }
  change.outcome = outcome_of(change.bounds, margin);
  return change;
}

MeanTime mean_time(std::span<const ObservedRun> runs, double alpha) {
  const double mean = moments(logarithms(runs)).mean;
  MeanTime time{std::exp(mean)};
  if (const auto error = error_of(runs)) {
    const double half_width = quantile(alpha, error->degrees) * std::sqrt(error->variance);
    if (half_width <= kWidest) {
      time.bounds = Bounds{std::exp(mean - half_width), std::exp(mean + half_width)};
    }
  }
  return time;
}

MemoryChange memory_change(std::span<const std::uint64_t> before, std::span<const std::uint64_t> after,
                           std::uint64_t negligible, double margin) {
  const auto middle = [](std::span<const std::uint64_t> runs) {
    std::vector<std::uint64_t> sorted(runs.begin(), runs.end());
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  };
  const auto [least_before, most_before] = std::ranges::minmax(before);
  const auto [least_after, most_after] = std::ranges::minmax(after);
  MemoryChange change{middle(before), middle(after)};
  change.bounds = {static_cast<double>(least_after) - static_cast<double>(most_before),
                   static_cast<double>(most_after) - static_cast<double>(least_before)};
  const double least = std::max(change.bounds.low, -change.bounds.high);  // above 0: all differences have one sign
  const double most = std::max(-change.bounds.low, change.bounds.high);
  const auto whole = static_cast<double>(std::max(change.before_bytes, change.after_bytes));
  if (least > static_cast<double>(negligible)) {
    change.outcome = Outcome::kDiffers;
  } else if (most <= std::max(static_cast<double>(negligible), margin * whole)) {
    change.outcome = Outcome::kNoDifference;
  }
  return change;
}

}  // namespace ridgeline::analysis
