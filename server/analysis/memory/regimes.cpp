#include "analysis/memory/regimes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace ridgeline::analysis {

namespace {

/// A page that is faulted in and cleared takes 0.3 to 1 µs, the latter in a virtual machine.
constexpr double kMsPerMappedByte = 1e-3 / 4096;
/// Starting the threads for a loop, or what they save of one that is just long enough.
constexpr double kMsPerThreadedLoop = 0.005;
constexpr double kRegimeReach = 4;
constexpr std::size_t kMost = 64;

/// How far the bytes at a sampled size may lie off the line through the first and the last, as a part of the line's.
constexpr double kLinearTolerance = 0.25;

bool is_nearly_linear(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const auto first = static_cast<double>(bytes.front());
  const double slope = (static_cast<double>(bytes.back()) - first) / (sizes.back() - sizes.front());
  for (std::size_t i = 1; i + 1 < bytes.size(); ++i) {
    const double line = first + slope * (sizes[i] - sizes.front());
    if (std::abs(static_cast<double>(bytes[i]) - line) > kLinearTolerance * line) {
      return false;
    }
  }
  return slope > 0;
}

}  // namespace

std::vector<Regime> regimes_of(const Ledger& ledger, const std::vector<int>& sizes) {
  struct Limit {
    double bytes;
    double ms;
  };
  std::map<int, double> found;
  for (const Allocation& allocation : ledger.allocations) {
    const double first = static_cast<double>(allocation.bytes.front());
    const double slope = (static_cast<double>(allocation.bytes.back()) - first) / (sizes.back() - sizes.front());
    if (allocation.before || !is_nearly_linear(allocation.bytes, sizes)) {
      continue;
    }
    for (const Limit limit :
         {Limit{kMappedBytes, kMappedBytes * kMsPerMappedByte}, Limit{kThreadedBytes, kMsPerThreadedLoop}}) {
      const double from = std::ceil(sizes.front() + (limit.bytes - first) / slope);
      if (from > 1 && from <= kRegimeReach * sizes.back()) {
        found[static_cast<int>(from)] += limit.ms;
      }
    }
  }
  std::vector<Regime> regimes;
  for (const auto& [from, ms] : found) {
    regimes.push_back({from, ms});
  }
  std::ranges::stable_sort(regimes, std::greater(), &Regime::ms);
  regimes.resize(std::min(regimes.size(), kMost));
  std::ranges::sort(regimes, {}, &Regime::from_batch);
  return regimes;
}

}  // namespace ridgeline::analysis
