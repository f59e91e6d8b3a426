#include "operations/estimators/held_out.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "operations/device/operation_call.h"
#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"
#include "operations/device/wave_scaling.h"
#include "operations/estimators/chance.h"

namespace ridgeline::operations {

namespace {

/// The operator; of convolution_backward also what is asked for, since these are different operations.
std::string operation_label(const std::string& key) {
  const auto call = parse_call(key);
  if (!call) {
    return key;
  }
  std::string label = call->operation + "." + call->overload;
  const auto* mask = call->arguments.empty() ? nullptr : call->arguments.back().list();
  if (call->operation == "aten::convolution_backward" && mask != nullptr) {
    label += " of";
    constexpr std::array<const char*, 3> kWanted = {" input", " weight", " bias"};
    for (std::size_t i = 0; i < std::min(mask->size(), kWanted.size()); ++i) {
      label += (*mask)[i].is_true() ? kWanted.at(i) : "";
    }
  }
  return label;
}

const std::string& key_of_row(const ListedTime& row) { return row.time.key; }

struct Collected {
  std::vector<double> errors{};
  std::vector<double> spreads{};
  int refused = 0;
  int within = 0;
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

std::optional<double> mean_where_any(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(mean_of(values));
}

HeldOutError error_of(const std::string& operation, const Collected& one) {
  const auto count = static_cast<int>(one.errors.size());
  HeldOutError error{.operation = operation, .rows = one.refused + count, .refused = one.refused};
  error.sample_spread = median_of(one.spreads);
  if (count > 0) {
    error.mean = mean_of(one.errors);
    error.median = median_of(one.errors);
    error.worst = std::ranges::max(one.errors);
    error.within = one.within / static_cast<double>(count);
  }
  return error;
}

/// By operator. `estimate_of`: of a key, an optional Estimate.
template <typename EstimateOf>
std::vector<HeldOutError> errors_of(std::span<const ListedTime> held_out, EstimateOf estimate_of) {
  std::map<std::string, Collected> by_operation;
  for (const ListedTime& row : held_out) {
    Collected& one = by_operation[operation_label(row.time.key)];
    one.spreads.push_back((row.time.high - row.time.low) / row.time.ns);
    const auto estimated = estimate_of(row.time.key);
    if (!estimated) {
      ++one.refused;
      continue;
    }
    one.errors.push_back(std::abs(estimated->ns / row.time.ns - 1));
    one.within += row.time.ns >= estimated->low && row.time.ns <= estimated->high ? 1 : 0;
  }
  std::vector<HeldOutError> errors;
  for (const auto& [operation, one] : by_operation) {
    errors.push_back(error_of(operation, one));
  }
  return errors;
}

/// Errors of what is computed without learning.
struct Baselines {
  std::vector<double> roofline{};
  std::vector<double> scaled{};
};

/// From the first other device that has the operation.
std::optional<double> scaled_ns(const std::string& key, const OperationWork& work, const Device& to,
                                std::span<const DeviceTimes> others) {
  for (const DeviceTimes& from : others) {
    const auto found = std::ranges::lower_bound(from.rows, key, {}, key_of_row);
    if (found != from.rows.end() && found->time.key == key && from.device.name != to.name) {
      return wave_scaled_ns(work, from.device, to, found->time.ns);
    }
  }
  return std::nullopt;
}

}  // namespace

std::pair<std::vector<ListedTime>, std::vector<ListedTime>> split_rows(std::span<const ListedTime> rows,
                                                                       double held_out, double share) {
  std::pair<std::vector<ListedTime>, std::vector<ListedTime>> split;
  for (const ListedTime& row : rows) {
    if (chance_of(row.time.key, "held out") < held_out) {
      split.second.push_back(row);
    } else if (chance_of(row.time.key, "share") < share) {
      split.first.push_back(row);
    }
  }
  return split;
}

std::vector<HeldOutError> held_out_errors(const Estimators& estimators, std::span<const ListedTime> held_out) {
  return errors_of(held_out, [&](const std::string& key) { return estimate(estimators, key); });
}

std::vector<DeviceError> errors_across_devices(const Estimators& estimators, const DeviceTimes& held_out,
                                               std::span<const DeviceTimes> others) {
  const Device& device = held_out.device;
  std::map<std::string, Baselines> baselines;
  for (const ListedTime& row : held_out.rows) {
    const auto work = work_of(row.time.key);
    if (!work || !estimate_across_devices(estimators, row.time.key, device)) {
      continue;  // errors are compared on the same rows
    }
    Baselines& one = baselines[operation_label(row.time.key)];
    if (const auto bound = plain_roofline(*work, device, device.compute_units)) {
      one.roofline.push_back(std::abs(bound->ns / row.time.ns - 1));
    }
    if (const auto scaled = scaled_ns(row.time.key, *work, device, others)) {
      one.scaled.push_back(std::abs(*scaled / row.time.ns - 1));
    }
  }
  std::vector<DeviceError> errors;
  for (HeldOutError& error : errors_of(
           held_out.rows, [&](const std::string& key) { return estimate_across_devices(estimators, key, device); })) {
    const Baselines& one = baselines[error.operation];
    errors.push_back({device.name, std::ranges::find(estimators.devices, device.name) != estimators.devices.end(),
                      std::move(error), mean_where_any(one.roofline), mean_where_any(one.scaled)});
  }
  return errors;
}

}  // namespace ridgeline::operations
