#include "estimate/held_out.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/content_hash.h"
#include "hardware/operation_call.h"

namespace ridgeline::estimate {

namespace {

/// From 0 to 1.
double chance_of(const std::string& key, const char* salt) {
  base::ContentHash hash;
  hash.add(salt);
  hash.end_part();
  hash.add(key);
  // The lowest digits: FNV mixes into these last.
  return static_cast<double>(std::stoul(hash.text().substr(8), nullptr, 16)) / 4294967296.0;
}

/// The operator; of convolution_backward also what is asked for, since these are different operations.
std::string operation_label(const std::string& key) {
  const auto call = hardware::parse_call(key);
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

}  // namespace

std::pair<std::vector<operations::ListedTime>, std::vector<operations::ListedTime>> split_rows(
    std::span<const operations::ListedTime> rows, double held_out, double share) {
  std::pair<std::vector<operations::ListedTime>, std::vector<operations::ListedTime>> split;
  for (const operations::ListedTime& row : rows) {
    if (chance_of(row.time.key, "held out") < held_out) {
      split.second.push_back(row);
    } else if (chance_of(row.time.key, "share") < share) {
      split.first.push_back(row);
    }
  }
  return split;
}

std::vector<HeldOutError> held_out_errors(const Estimators& estimators,
                                          std::span<const operations::ListedTime> held_out) {
  std::map<std::string, Collected> by_operation;
  for (const operations::ListedTime& row : held_out) {
    Collected& one = by_operation[operation_label(row.time.key)];
    one.spreads.push_back((row.time.high - row.time.low) / row.time.ns);
    const auto estimated = estimate(estimators, row.time.key);
    if (!estimated) {
      ++one.refused;
      continue;
    }
    one.errors.push_back(std::abs(estimated->ns / row.time.ns - 1));
    one.within += row.time.ns >= estimated->low && row.time.ns <= estimated->high ? 1 : 0;
  }
  std::vector<HeldOutError> errors;
  for (const auto& [operation, one] : by_operation) {
    HeldOutError& error = errors.emplace_back();
    error.operation = operation;
    error.refused = one.refused;
    error.rows = one.refused + static_cast<int>(one.errors.size());
    error.sample_spread = median_of(one.spreads);
    if (!one.errors.empty()) {
      for (const double value : one.errors) {
        error.mean += value / static_cast<double>(one.errors.size());
      }
      error.median = median_of(one.errors);
      error.worst = std::ranges::max(one.errors);
      error.within = one.within / static_cast<double>(one.errors.size());
    }
  }
  return errors;
}

}  // namespace ridgeline::estimate
