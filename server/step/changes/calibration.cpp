#include "step/changes/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "step/changes/residuals.h"

namespace ridgeline::step {

namespace {

constexpr std::string_view kAny = "any";

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kKinds = {{
    {"bf16-autocast", "autocast"},
    {"fp16-autocast", "autocast"},
    {"foreach-optimizer", "optimizer"},
    {"fused-optimizer", "optimizer"},
    {"channels-last", "channels-last"},
    {"checkpoint", "checkpoint"},
    {"selective-checkpoint", "checkpoint"},
    {"accumulate", "accumulate"},
}};

}  // namespace

std::span<const Residual> residual_table() { return kResiduals; }

int calibration_models() { return std::ranges::max_element(kResiduals, {}, &Residual::models)->models; }

double calibrated_level() { return kCalibratedLevel; }

std::string_view kind_of(std::span<const std::string> changes) {
  if (changes.size() != 1) {
    return changes.empty() ? kAny : "combined";
  }
  const std::string_view name = std::string_view(changes.front()).substr(0, changes.front().find(':'));
  const auto found = std::ranges::find(kKinds, name, &decltype(kKinds)::value_type::first);
  return found == kKinds.end() ? kAny : found->second;
}

double widening_of(std::span<const Residual> table, std::string_view kind, double share) {
  double widening = 0;
  bool is_known = false;
  double least = -1;  // the largest `least_share` that `share` attains
  for (const Residual& row : table) {
    if (row.kind == kind) {
      is_known = true;
      least = row.least_share <= share ? std::max(least, row.least_share) : least;
    }
  }
  for (const Residual& row : table) {
    if (row.kind == kind && row.least_share >= least) {
      widening = std::max(widening, row.widening);
    }
  }
  return is_known || kind == kAny ? widening : widening_of(table, kAny, share);
}

analysis::SpeedUp calibrated(const analysis::SpeedUp& speed_up, std::span<const std::string> changes, double share) {
  const double factor = std::exp(std::max(0.0, widening_of(residual_table(), kind_of(changes), share)));
  return {speed_up.value, speed_up.low / factor, speed_up.high * factor};
}

}  // namespace ridgeline::step
