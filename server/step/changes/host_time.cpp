#include "step/changes/host_time.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analysis/time/models.h"
#include "step/changes/unchanged_step.h"

namespace ridgeline::step {

namespace {

/// Two listings of the same step differ by less before almost every operation.
constexpr double kSameShare = 0.25;
constexpr double kSameNs = 3'000;

}  // namespace

HostTime::HostTime(const protocol::CapturedStep& step, const std::vector<double>& recorded_ns)
    : observed_(!step.host_ns.empty()) {
  std::unordered_map<std::string, std::vector<double>> by_name;
  std::vector<double> all;
  std::array<double, protocol::kStepParts> counts{};
  for (std::size_t i = 0; i < step.operations.size(); ++i) {
    const auto part = static_cast<std::size_t>(step.operations[i].part);
    mean_ns_.at(part) += recorded_ns[i];
    ++counts.at(part);
    if (observed_) {
      const double listing_ns = step.host_ns[i] - recorded_ns[i];
      by_name[name_of(step, step.operations[i])].push_back(listing_ns);
      all.push_back(listing_ns);
    }
  }
  for (auto& [name, listing_ns] : by_name) {
    listing_ns_[name] = analysis::median(listing_ns);
  }
  for (std::size_t part = 0; part < counts.size(); ++part) {
    if (counts.at(part) > 0) {
      mean_ns_.at(part) /= counts.at(part);
    }
  }
  usual_listing_ns_ = analysis::median(all);
}

double HostTime::before(const protocol::CapturedStep& step, std::size_t i, double slower) const {
  if (!observed_ || step.host_ns.empty()) {
    return mean_ns_.at(static_cast<std::size_t>(step.operations[i].part));
  }
  const auto named = listing_ns_.find(name_of(step, step.operations[i]));
  const double listing_ns = named != listing_ns_.end() ? named->second : usual_listing_ns_;
  return step.host_ns[i] / slower - listing_ns;
}

double slower_listing(const protocol::CapturedStep& unchanged, const protocol::CapturedStep& changed,
                      const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  if (unchanged.host_ns.empty() || changed.host_ns.empty()) {
    return 1;
  }
  std::vector<double> ratios;
  for (const auto& [before, after] : pairs) {
    if (unchanged.host_ns[before] > 0 && changed.host_ns[after] > 0) {
      ratios.push_back(changed.host_ns[after] / unchanged.host_ns[before]);
    }
  }
  return ratios.empty() ? 1 : analysis::median(ratios);
}

bool has_other_host_time(double unchanged_ns, double changed_ns, double slower) {
  return std::abs(changed_ns / slower - unchanged_ns) > kSameNs + kSameShare * unchanged_ns;
}

}  // namespace ridgeline::step
