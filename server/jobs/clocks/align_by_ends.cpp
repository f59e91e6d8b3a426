#include "jobs/clocks/align_by_ends.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "analysis/time/models.h"

namespace ridgeline::jobs {

namespace {

/// Standard deviations in a median absolute deviation of normal noise.
constexpr double kSigmas = 1.4826;
/// The standard error of a median of n samples is kOfMedian standard deviations over √n.
constexpr double kOfMedian = 1.2533;
constexpr double k95 = 1.96;

/// A pair of ends: by the machine's own clock, and by the clock that it is aligned to.
struct PairedEnd {
  std::int64_t own_ns = 0;
  std::int64_t true_ns = 0;
};

/// By the two machines, the lower first.
using EndsByPair = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const CommonEnd*>>;

struct OffsetLine {
  double offset_ns = 0;  ///< besides the base, at `at_ns` since the first end
  double at_ns = 0;
  double slope = 0;
  bool is_known = false;  ///< the slope
};

/// Through the medians of the first and of the second half, robust against ends that are late.
OffsetLine line_through(const std::vector<double>& times, const std::vector<double>& offsets) {
  const std::size_t half = times.size() / 2;
  const auto median_of = [](const std::vector<double>& from, std::size_t begin, std::size_t end) {
    return analysis::median(
        {from.begin() + static_cast<std::ptrdiff_t>(begin), from.begin() + static_cast<std::ptrdiff_t>(end)});
  };
  OffsetLine line{.offset_ns = analysis::median(offsets), .at_ns = analysis::median(times)};
  if (half < 2) {
    return line;
  }
  const double span = median_of(times, half, times.size()) - median_of(times, 0, half);
  if (span <= 0) {
    return line;
  }
  const double slope = (median_of(offsets, half, offsets.size()) - median_of(offsets, 0, half)) / span;
  std::vector<double> deviations;
  for (std::size_t i = 0; i < times.size(); ++i) {
    deviations.push_back(std::abs(offsets[i] - line.offset_ns - slope * (times[i] - line.at_ns)));
  }
  const double sigma = std::max(kSigmas * analysis::median(deviations), kEndsApartNs / 4);
  const double error = k95 * std::sqrt(2.0) * kOfMedian * sigma / std::sqrt(static_cast<double>(half)) / span;
  if (1e6 * error <= kMostUnsurePpm) {
    line.slope = slope;
    line.is_known = true;
  }
  return line;
}

/// All but one in twenty of the ends allow it.
double reach(std::vector<double> deviations) {
  std::ranges::sort(deviations);
  return std::max(kEndsApartNs, deviations[deviations.size() * 19 / 20]);
}

ClockOffset offset_of(std::vector<PairedEnd> ends) {
  std::ranges::sort(ends, {}, &PairedEnd::own_ns);
  ClockOffset clock{.begin_ns = ends.front().own_ns, .end_ns = ends.back().own_ns};
  clock.base_ns = ends[ends.size() / 2].true_ns - ends[ends.size() / 2].own_ns;
  std::vector<double> times;
  std::vector<double> offsets;
  for (const PairedEnd& one : ends) {
    times.push_back(static_cast<double>(one.own_ns - clock.begin_ns));
    offsets.push_back(static_cast<double>(one.true_ns - one.own_ns - clock.base_ns));
  }
  const OffsetLine line = line_through(times, offsets);
  const auto at = [&](double ns) { return line.offset_ns + line.slope * (ns - line.at_ns); };
  std::vector<double> deviations;
  for (std::size_t i = 0; i < times.size(); ++i) {
    deviations.push_back(std::abs(offsets[i] - at(times[i])));
  }
  const double width = reach(std::move(deviations));
  const auto range = [&](double ns) { return OffsetRange{at(ns), at(ns) - width, at(ns) + width}; };
  clock.at_begin = range(0);
  clock.at_end = range(times.back());
  clock.drift_known = line.is_known;
  return clock;
}

}  // namespace

std::optional<std::vector<ClockOffset>> align_by_ends(const HappensBefore& recorded) {
  EndsByPair pairs;
  for (const CommonEnd& one : recorded.ends) {
    pairs[std::minmax(one.first, one.second)].push_back(&one);
  }
  std::vector<ClockOffset> clocks(recorded.machines.size());
  std::vector<bool> known(clocks.size());
  std::vector<std::uint32_t> queue = {0};
  if (!clocks.empty()) {
    known[0] = true;
  }
  for (std::size_t at = 0; at < queue.size() && !clocks.empty(); ++at) {
    const std::uint32_t from = queue[at];
    for (std::uint32_t other = 0; other < clocks.size(); ++other) {
      const auto found = known[other] ? pairs.end() : pairs.find(std::minmax(from, other));
      if (found == pairs.end()) {
        continue;
      }
      std::vector<PairedEnd> ends;
      for (const CommonEnd* one : found->second) {
        const bool is_first = one->first == other;
        ends.push_back({is_first ? one->first_ns : one->second_ns,
                        clocks[from].aligned(is_first ? one->second_ns : one->first_ns)});
      }
      clocks[other] = offset_of(std::move(ends));
      if (from != 0) {
        clocks[other].widen(clocks[from]);
      }
      known[other] = true;
      queue.push_back(other);
    }
  }
  return std::ranges::find(known, false) == known.end() ? std::optional(std::move(clocks)) : std::nullopt;
}

}  // namespace ridgeline::jobs
