#include "operations/estimators/across_devices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "operations/device/data_sheets.h"
#include "operations/device/matrix_work.h"
#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"
#include "operations/device/tile_model.h"
#include "operations/estimators/chance.h"

namespace ridgeline::operations {

namespace {

// Resident threads per multiprocessor (CUDA C++ Programming Guide); 1536 on newer cards.
constexpr double kThreadsPerUnit = 2048;

constexpr double kHiddenCompute = 0.1;  // compute shorter than this share of the memory time is hidden behind it

// Time to move the data beside which a launch of a few microseconds is negligible.
constexpr double kLaunchNegligibleNs = 1e4;

/// An operation as models across devices see it.
struct Described {
  std::string family;
  double bound_ns = 0;  ///< plain: with all bytes from the main memory
  double least_ns = 0;  ///< no run is faster
  double flops = 0;
  std::vector<double> features{};  ///< logarithms
  std::string product_dtype{};     ///< empty: no product
};

// The features of an operation, other than a product, that grow with the number of rows.
constexpr std::array<std::size_t, 4> kGrowWithRows = {0, 2, 3, 5};

/// The operation's family: its kind and its dtype. A product of three-dimensional tensors is a batched one.
std::string family_of(const OperationCall& call, const OperationWork& work, bool is_product) {
  std::string family;
  if (is_product) {
    const auto tensors = call.tensors();
    family = tensors.back()->sizes.size() == 3 ? "products of batches of matrices" : "product of matrices";
  } else {
    family = work.kind == OperationKind::kElementwise ? "element-wise" : call.operation;
  }
  return family + ", " + work.dtype;
}

double log_of(double value) { return std::log(std::max(value, 1e-9)); }

void add_tiles(std::vector<double>& features, const ProductShape& shape, const TileEstimate& tile, const Device& device,
               double bound_ns) {
  const auto parts = [](std::int64_t size, std::int64_t of) {
    const std::int64_t whole = (size + of - 1) / of;
    return static_cast<double>(whole);
  };
  const double tiles = static_cast<double>(shape.batches) * parts(shape.rows, tile.tile_rows) *
                       parts(shape.columns, tile.tile_columns) * static_cast<double>(tile.splits);
  for (const double value : {tile.ns / bound_ns, tiles / device.compute_units, tile.useful, tile.last_wave_fill,
                             static_cast<double>(shape.batches), static_cast<double>(shape.rows),
                             static_cast<double>(shape.columns), static_cast<double>(shape.depth)}) {
    features.push_back(log_of(value));
  }
}

void add_elements(std::vector<double>& features, const OperationCall& call, const OperationWork& work,
                  const Device& device) {
  double most = 1;
  double row = 1;
  for (const TensorShape* tensor : call.tensors()) {
    if (tensor->elements() > most) {
      most = tensor->elements();
      row = tensor->sizes.empty() ? 1 : static_cast<double>(tensor->sizes.back());
    }
  }
  for (const double value : {most / (device.compute_units * kThreadsPerUnit), row, most / row, (work.flops + 1) / most,
                             work.bytes() / most}) {
    features.push_back(log_of(value));
  }
}

std::optional<Described> describe(const OperationCall& call, const Device& device) {
  const auto work = work_of(call);
  const auto plain = work ? plain_roofline(*work, device, device.compute_units) : std::nullopt;
  if (!plain || plain->ns <= 0 || call.tensors().empty()) {
    return std::nullopt;
  }
  const auto shape = product_of(call);
  const auto tile = shape ? estimate_product(*shape, device) : std::nullopt;
  if (work->kind == OperationKind::kMatrix && !tile) {
    return std::nullopt;
  }
  auto least_work = *work;
  least_work.flops *= least_share_of_flops(call);
  const auto least = roofline_bound(least_work, device, device.compute_units);
  Described described{.family = family_of(call, *work, tile.has_value()),
                      .bound_ns = plain->ns,
                      .least_ns = least ? least->ns : 0,
                      .flops = work->flops,
                      .product_dtype = tile ? work->dtype : ""};
  const double balance = (plain->compute_ns + 1) / (plain->memory_ns + 1);
  described.features = {log_of(plain->ns), log_of(std::max(balance, kHiddenCompute))};
  double cache = 1;
  for (const MemoryLevel& level : device.levels) {
    cache = &level == &device.levels.back() ? cache : level.capacity_bytes;
  }
  described.features.push_back(log_of(work->bytes() / cache));
  if (tile) {
    add_tiles(described.features, *shape, *tile, device, plain->ns);
  } else {
    add_elements(described.features, call, *work, device);
  }
  return described;
}

void add_row(TrainingGroup& group, const Described& described, const OperationTime& time, int fold) {
  Group& seen = group.group;
  if (group.keys.empty()) {
    seen.mode = described.family;
    seen.learnt = {{"bound", true, described.bound_ns, described.bound_ns}};
    seen.seen.assign(described.features.size(),
                     {std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()});
  }
  LearntParameter& bound = seen.learnt.front();
  bound.low = std::min(bound.low, described.bound_ns);
  bound.high = std::max(bound.high, described.bound_ns);
  for (std::size_t i = 0; i < seen.seen.size(); ++i) {
    auto& [low, high] = seen.seen[i];
    low = std::min(low, described.features[i]);
    high = std::max(high, described.features[i]);
  }
  group.keys.push_back(time.key);
  group.numbers.push_back({described.bound_ns});
  group.features.push_back(described.features);
  group.ns.push_back(time.ns);
  group.least_ns.push_back(described.least_ns);
  group.folds.push_back(fold);
}

struct DescribedRow {
  Described described;
  const OperationTime* time;
  int fold;
  double power_w;  ///< of the device; 0: not known
};

/// The factor by which a value is outside of [low, high], all logarithms.
double beyond(double value, double low, double high) { return std::exp(std::max({low - value, value - high, 0.0})); }

/// Joules per FLOP of products (rated power x time): the 5th percentile on each device, and the lowest of these; 0: not
/// known.
double least_joules_per_flop(const std::vector<DescribedRow>& rows) {
  std::map<int, std::vector<double>> by_device;
  for (const DescribedRow& row : rows) {
    if (row.power_w > 0 && !row.described.product_dtype.empty()) {
      by_device[row.fold].push_back(row.power_w * row.time->ns * 1e-9 / row.described.flops);
    }
  }
  double least = 0;
  for (auto& [fold, joules] : by_device) {
    const auto fifth_percentile = joules.begin() + static_cast<std::ptrdiff_t>(joules.size() / 20);
    std::ranges::nth_element(joules, fifth_percentile);
    least = least > 0 ? std::min(least, *fifth_percentile) : *fifth_percentile;
  }
  return least;
}

/// The time of a product that uses `group.joules_per_flop` at the device's rated power; 0 if either is not known.
double at_its_power_ns(const Group& group, const Described& described, const Device& device) {
  return device.power_w && !described.product_dtype.empty()
             ? described.flops * group.joules_per_flop / device.power_w->value * 1e9
             : 0;
}

/// The factor by which the number of rows must grow for the operation to be as large as the smallest one seen. 1 if it
/// already is, if it is a matrix product, or if it is so short that launch overhead matters.
double row_factor_to_seen(const Group& seen, const Described& described) {
  if (!described.product_dtype.empty() || described.bound_ns < kLaunchNegligibleNs) {
    return 1;
  }
  double times = seen.learnt.front().low / described.bound_ns;
  for (const std::size_t feature : kGrowWithRows) {
    times = std::max(times, std::exp(seen.seen[feature].first - described.features[feature]));
  }
  return std::max(times, 1.0);
}

Described with_rows(Described described, double times) {
  described.bound_ns *= times;
  for (const std::size_t feature : kGrowWithRows) {
    described.features[feature] += std::log(times);
  }
  return described;
}

/// The largest factor by which the bound or a feature is outside of what was seen.
double beyond_seen(const Group& group, const Described& described) {
  const LearntParameter& bound = group.learnt.front();
  double most = beyond(std::log(described.bound_ns), std::log(bound.low), std::log(bound.high));
  for (std::size_t i = 0; i < described.features.size(); ++i) {
    const auto& [low, high] = group.seen[i];
    most = std::max(most, beyond(described.features[i], low, high));
  }
  return most;
}

}  // namespace

std::vector<TrainingGroup> groups_across_devices(std::span<const DeviceTimes> devices) {
  std::map<std::string, std::vector<DescribedRow>> families;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (const ListedTime& row : devices[i].rows) {
      const auto call = row.time.reason.empty() ? parse_call(row.time.key) : std::nullopt;
      if (auto described = call ? describe(*call, devices[i].device) : std::nullopt) {
        const std::string family = described->family;
        const double power_w = devices[i].device.power_w ? devices[i].device.power_w->value : 0;
        families[family].push_back({std::move(*described), &row.time, static_cast<int>(i), power_w});
      }
    }
  }
  std::vector<TrainingGroup> groups;
  for (const auto& [family, rows] : families) {
    const double share = static_cast<double>(kMostRowsAcross) / static_cast<double>(rows.size());
    TrainingGroup group;
    for (const DescribedRow& row : rows) {
      if (share >= 1 || chance_of(row.time->key, "across") < share) {
        add_row(group, row.described, *row.time, row.fold);
      }
    }
    const bool several = std::ranges::any_of(group.folds, [&](int fold) { return fold != group.folds.front(); });
    if (several) {  // else no model could be judged on another device
      group.group.joules_per_flop = least_joules_per_flop(rows);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

std::optional<Estimate> estimate_across_devices(const Estimators& estimators, std::string_view key,
                                                const Device& device) {
  const auto call = parse_call(key);
  return call ? estimate_across_devices(estimators, *call, device) : std::nullopt;
}

std::optional<Estimate> estimate_across_devices(const Estimators& estimators, const OperationCall& call,
                                                const Device& device) {
  const auto described = describe(call, device);
  if (!described) {
    return std::nullopt;
  }
  const auto model = std::ranges::find(estimators.models, described->family,
                                       [](const OperatorModel& one) -> const std::string& { return one.group.mode; });
  if (model == estimators.models.end() || model->group.seen.size() != described->features.size()) {
    return std::nullopt;
  }
  const double rows = row_factor_to_seen(model->group, *described);
  const Described large = with_rows(*described, rows);
  const double most_beyond = beyond_seen(model->group, large);
  const double least = described->least_ns;
  const double ns = std::max(least, std::exp(evaluate(*model, {large.bound_ns}, large.features)) / rows);
  if (most_beyond > kMostBeyond || !std::isfinite(ns) || ns <= 0) {
    return std::nullopt;
  }
  const double wider = most_beyond * rows;
  const double slow_ns = std::max(ns, at_its_power_ns(model->group, *described, device));
  return Estimate{std::sqrt(ns * slow_ns), std::max(least, ns * std::exp(std::min(model->low, 0.0)) / wider),
                  slow_ns * std::exp(std::max(model->high, 0.0)) * wider, wider};
}

}  // namespace ridgeline::operations
