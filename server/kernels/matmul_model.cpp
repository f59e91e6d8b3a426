#include "kernels/matmul_model.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ridgeline::kernels {

namespace {

constexpr double kElementBytes = 4;
// Two multiply-adds a cycle, each of four cycles: fewer accumulators wait for themselves.
constexpr double kChainsForPeak = 8;

double blocks(std::int64_t size, std::int64_t block) { return static_cast<double>((size + block - 1) / block); }

std::int64_t rounded_up(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

/// Seconds that one thread copies panels for: they are read and written once per copy. A panel of A is transposed
/// element by element, so that each takes a transaction of L1.
double packing_s(const MatmulPlan& plan, double rows, double columns, double depth, const CoreRates& rates) {
  const double copies_of_a = plan.pack_a ? blocks(plan.part_columns(), plan.column_block) : 0;
  const double last_columns = static_cast<double>(plan.shape.columns % plan.register_columns);
  const double packed_columns = plan.pack_b ? columns : last_columns;
  return copies_of_a * rows * depth * 2 * rates.vector_bytes / rates.near().bytes_per_s +
         packed_columns * depth * 2 * kElementBytes / rates.far().bytes_per_s;
}

}  // namespace

const CoreRates::Level& CoreRates::holding(double bytes) const {
  const auto found = std::ranges::find_if(levels, [&](const Level& level) { return bytes <= level.capacity_bytes; });
  return found == levels.end() ? levels.back() : *found;
}

base::Result<CoreRates> core_rates(const hardware::Device& device, int threads) {
  const hardware::Peak* peak = hardware::find_peak(device, "float32");
  const std::string measure = "; measure this processor with `ridgeline device --measure`";
  if (device.kind != hardware::DeviceKind::kCpu) {
    return base::error(device.name + " is not a processor: kernels are made for processors only");
  }
  if (peak == nullptr || device.vector_bytes < kElementBytes || device.levels.size() < 2) {
    return base::error(device.name + ": the peak of float32, the width of vectors or the caches are not known" +
                       measure);
  }
  const auto share = [&](const hardware::Rate& rate) {
    return threads == 1 && rate.one_unit ? rate.one_unit->value : rate.all.value / device.compute_units;
  };
  CoreRates rates{share(peak->flop_per_s),
                  device.vector_bytes,
                  device.levels.front().transaction_bytes,
                  device.vector_bytes >= 64 ? 32 : 16,
                  {}};
  for (const hardware::MemoryLevel& level : device.levels) {
    if (!level.bytes_per_s) {
      return base::error(device.name + ": the bandwidth of " + level.name + " is not known" + measure);
    }
    const double users = std::min(threads, std::max(1, level.shared_by_units));
    rates.levels.push_back({level.name, level.capacity_bytes / users, share(*level.bytes_per_s)});
  }
  return rates;
}

double step_compute_s(const MatmulPlan& plan, const CoreRates& rates) {
  const auto elements = static_cast<double>(plan.register_rows * plan.register_columns);
  const double chains = elements / static_cast<double>(plan.vector_elements);
  return 2 * elements / rates.flop_per_s / std::min(1.0, chains / kChainsForPeak);
}

double step_load_s(const MatmulPlan& plan, const CoreRates& rates) {
  const bool aligned = plan.pack_b || plan.shape.columns * 4 % static_cast<std::int64_t>(rates.vector_bytes) == 0;
  const auto vectors = static_cast<double>(plan.register_columns / plan.vector_elements);
  // An element of A, which fills a vector, takes a transaction as a vector of B does.
  const double transactions = static_cast<double>(plan.register_rows) + vectors * (aligned ? 1 : 2);
  return transactions * rates.vector_bytes / rates.near().bytes_per_s;
}

MatmulPlan with_predicted_time(MatmulPlan plan, const CoreRates& rates) {
  const auto rows = static_cast<double>(plan.part_rows());
  const auto columns = static_cast<double>(plan.part_columns());
  const auto depth = static_cast<double>(plan.shape.depth);
  const double steps = rows * static_cast<double>(rounded_up(plan.part_columns(), plan.vector_elements)) /
                       static_cast<double>(plan.register_rows * plan.register_columns) * depth;
  // A panel of A comes for each panel of B; a panel of B for each row block; C is read and written per depth block,
  // when nothing is computed.
  const auto column_block = static_cast<double>(std::min(plan.column_block, plan.part_columns()));
  const auto depth_block = static_cast<double>(plan.depth_block);
  const double a = rows * depth * blocks(plan.part_columns(), plan.register_columns) * kElementBytes;
  const double b = columns * depth * blocks(plan.part_rows(), plan.row_block) * kElementBytes;
  const double c = rows * columns * (2 * blocks(plan.shape.depth, plan.depth_block) - 1) * kElementBytes;
  const double all = (rows * depth + columns * depth + rows * columns) * kElementBytes;
  const double batches = static_cast<double>(plan.shape.batches);
  const auto block_rows = static_cast<double>(std::min(plan.row_block, plan.part_rows()));
  const auto& a_level = rates.holding(block_rows * depth_block * kElementBytes * 2);
  const auto& b_level = rates.holding(column_block * depth_block * kElementBytes * 2);
  const auto& home = rates.holding(all * batches);
  std::vector<std::pair<std::string, double>> stages = {{"compute", steps * step_compute_s(plan, rates)},
                                                        {rates.near().name, steps * step_load_s(plan, rates)}};
  for (const CoreRates::Level& level : rates.levels) {
    const double bytes = (&level == &a_level ? a : 0) + (&level == &b_level ? b : 0) + (&level == &home ? all : 0);
    if (&level != &rates.near()) {
      stages.emplace_back(level.name, bytes / level.bytes_per_s);
    }
  }
  const auto slowest = std::ranges::max_element(stages, {}, &std::pair<std::string, double>::second);
  plan.slowest = slowest->first;
  const double updates_s = c / std::max(home.bytes_per_s, rates.far().bytes_per_s);
  plan.ns = (slowest->second + updates_s + packing_s(plan, rows, columns, depth, rates)) * 1e9;
  return plan;
}

}  // namespace ridgeline::kernels
