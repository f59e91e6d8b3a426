#include "whatif/host_time.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "whatif/weighted_median.h"

namespace ridgeline::whatif {

namespace {

/// Of the times that were observed, so many are no longer than the listing alone takes.
constexpr std::size_t kShortestOf = 20;

double short_one(std::vector<double> times) {
  const auto place = times.begin() + static_cast<std::ptrdiff_t>(times.size() / kShortestOf);
  std::ranges::nth_element(times, place);
  return *place;
}

}  // namespace

HostTime::HostTime(const protocol::CapturedStep& step, const std::vector<double>& recorded_ns)
    : observed_(!step.host_ns.empty()) {
  std::vector<std::pair<double, double>> ratios;  // weighted
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    std::vector<double> observed;
    std::vector<double> recorded;
    for (std::size_t k = 0; k < step.operations.size(); ++k) {
      if (step.operations[k].part == static_cast<protocol::StepPart>(i)) {
        recorded.push_back(recorded_ns[k]);
        observed.push_back(observed_ ? step.host_ns[k] : 0);
      }
    }
    if (recorded.empty()) {
      continue;
    }
    Part& part = parts_.at(i);
    part.mean_ns = std::accumulate(recorded.begin(), recorded.end(), 0.0) / static_cast<double>(recorded.size());
    part.listing_ns = short_one(observed);
    for (std::size_t k = 0; k < observed.size(); ++k) {
      if (const double rest = observed[k] - part.listing_ns; rest > 0) {
        ratios.emplace_back(recorded[k] / rest, rest);
      }
    }
  }
  if (!ratios.empty()) {
    ratio_ = weighted_median(std::move(ratios));
  }
}

double HostTime::before(const protocol::CapturedStep& step, std::size_t i) const {
  const Part& part = parts_.at(static_cast<std::size_t>(step.operations[i].part));
  return observed_ && !step.host_ns.empty() ? ratio_ * std::max(0.0, step.host_ns[i] - part.listing_ns) : part.mean_ns;
}

}  // namespace ridgeline::whatif
