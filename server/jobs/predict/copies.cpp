#include "jobs/predict/copies.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ridgeline::jobs {

namespace {

/// Linear between order statistics. Not empty; `part` from 0 to 1.
double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

/// For each set of steps that ran at the same time, the time of the slowest.
std::vector<double> slowest_steps(const std::vector<std::vector<double>>& copies) {
  std::vector<double> slowest = copies.front();
  for (const std::vector<double>& copy : copies) {
    slowest.resize(std::min(slowest.size(), copy.size()));
    for (std::size_t i = 0; i < slowest.size(); ++i) {
      slowest[i] = std::max(slowest[i], copy[i]);
    }
  }
  return slowest;
}

}  // namespace

std::optional<SlowDown> slow_down(const protocol::Replica& replica, double ranks) {
  if (replica.alone_ns.empty() || replica.together_ns.empty()) {
    return std::nullopt;
  }
  const std::vector<double> slowest = slowest_steps(replica.together_ns);
  const double alone = quantile(replica.alone_ns, 0.5);
  const double machines = std::max(1.0, ranks / static_cast<double>(replica.together_ns.size()));
  // The 95 % interval of the median by order statistics; at the upper end, the median of the slowest of all machines.
  const double half = 0.98 / std::sqrt(static_cast<double>(slowest.size()));
  const double low = quantile(slowest, std::max(0.0, 0.5 - half));
  const double high = quantile(slowest, std::min(1.0, std::max(0.5 + half, std::pow(0.5, 1 / machines))));
  return SlowDown{quantile(slowest, 0.5) / alone, low / alone, high / alone};
}

}  // namespace ridgeline::jobs
