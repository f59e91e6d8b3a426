#include "operations/table/plausibility_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analysis/time/models.h"
#include "operations/device/data_sheets.h"
#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"

namespace ridgeline::operations {

namespace {

constexpr double kBoost = 0.7;          // of the bound: clocks above the stated one, data left in caches
constexpr double kOverheadNs = 20'000;  // that a framework takes to start an operation on a GPU, generously
constexpr double kMostOfLeast = 500;    // beyond which the unit, not the device, is the reason
constexpr std::size_t kFewRows = 5;     // say nothing

std::optional<double> least_ns(const Device& device, const std::string& key) {
  const auto call = parse_call(key);
  auto work = call ? work_of(*call) : std::nullopt;
  return work ? least_ns(*call, std::move(*work), device) : std::nullopt;
}

}  // namespace

const Device* gpu_sheet(const std::string& name) {
  thread_local std::map<std::string, std::optional<Device>> known;
  if (known.size() > 1000) {
    known.clear();
  }
  auto found = known.find(name);
  if (found == known.end()) {
    found = known.emplace(name, find_data_sheet(name)).first;
  }
  return found->second ? &*found->second : nullptr;
}

base::Result<void> PlausibilityCheck::check(const ListedTime& row) {
  const Device* device = gpu_sheet(row.conditions.device);
  const auto least = device == nullptr ? std::nullopt : least_ns(*device, row.time.key);
  if (!least) {
    return {};
  }
  if (row.time.ns < *least * kBoost) {
    return base::error(
        fmt::format("{:.6g} µs is faster than {} can be, which needs {:.6g} µs by its data sheet: are the unit and the "
                    "type right?",
                    row.time.ns / 1e3, device->name, *least / 1e3));
  }
  ratios_to_least_.push_back(row.time.ns / std::max(*least, kOverheadNs));
  return {};
}

base::Result<void> PlausibilityCheck::check_all() const {
  if (ratios_to_least_.size() < kFewRows) {
    return {};
  }
  const double typical = analysis::median(ratios_to_least_);
  if (typical <= kMostOfLeast) {
    return {};
  }
  return base::error(fmt::format(
      "the times are, in the median, {:.0f} times what the data sheet of the device gives: is the unit right?",
      typical));
}

}  // namespace ridgeline::operations
