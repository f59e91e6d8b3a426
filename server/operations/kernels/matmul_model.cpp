#include "operations/kernels/matmul_model.h"

#include <algorithm>
#include <vector>

#include "operations/kernels/sizes.h"

namespace ridgeline::operations {

namespace {

// Two multiply-adds a cycle, each of four cycles: fewer accumulators wait for themselves.
constexpr double kChainsForPeak = 8;

double blocks(std::int64_t size, std::int64_t block) { return static_cast<double>(divided_up(size, block)); }

double image_elements(const Convolution& convolution) {
  return static_cast<double>(convolution.channels * convolution.height * convolution.width);
}

/// Seconds in which a row of a panel is gathered from an image: from one of its rows after the other, each of which
/// begins and ends somewhere.
double patch_s(const MatmulPlan& plan, const CoreRates& rates) {
  constexpr double kRowInstructions = 20;
  constexpr double kVectorInstructions = 2;
  const auto columns = static_cast<double>(plan.register_columns);
  const double image_rows = 1 + columns / static_cast<double>(plan.shape.convolution->output_width());
  const bool is_contiguous = plan.shape.convolution->stride == 1;
  const double copied = (is_contiguous ? kVectorInstructions / static_cast<double>(plan.vector_elements) : 1) * columns;
  return (kRowInstructions * image_rows + copied) * rates.instruction_s();
}

/// Seconds that one thread copies panels for: they are read and written once per copy. A panel of A is transposed
/// element by element, so that each takes a transaction of L1.
double packing_s(const MatmulPlan& plan, double rows, double columns, double depth, const CoreRates& rates) {
  const double copies_of_a = plan.pack_a ? blocks(plan.part_columns(), plan.column_block) : 0;
  if (plan.shape.convolution) {
    return copies_of_a * rows * depth * 2 * rates.vector_bytes / rates.near().bytes_per_s +
           columns * depth / static_cast<double>(plan.register_columns) * patch_s(plan, rates);
  }
  if (plan.shape.transposed) {  // as a panel of A
    return (copies_of_a * rows + columns) * depth * 2 * rates.vector_bytes / rates.near().bytes_per_s;
  }
  const double last_columns = static_cast<double>(plan.shape.columns % plan.register_columns);
  const double packed_columns = plan.pack_b ? columns : last_columns;
  return copies_of_a * rows * depth * 2 * rates.vector_bytes / rates.near().bytes_per_s +
         packed_columns * depth * 2 * kElementBytes / rates.far().bytes_per_s;
}

}  // namespace

double step_compute_s(const MatmulPlan& plan, const CoreRates& rates) {
  const auto elements = static_cast<double>(plan.register_rows * plan.register_columns);
  const double chains = elements / static_cast<double>(plan.vector_elements);
  return 2 * elements / rates.flop_per_s / std::min(1.0, chains / kChainsForPeak);
}

double step_load_s(const MatmulPlan& plan, const CoreRates& rates) {
  const bool aligned = plan.pack_b || plan.shape.columns * 4 % static_cast<std::int64_t>(rates.vector_bytes) == 0;
  const std::int64_t vectors = plan.register_columns / plan.vector_elements;
  // An element of A, which fills a vector, takes a transaction as a vector of B does.
  const std::int64_t transactions = plan.register_rows + vectors * (aligned ? 1 : 2);
  return static_cast<double>(transactions) * rates.vector_bytes / rates.near().bytes_per_s;
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
  const double right = plan.shape.convolution ? image_elements(*plan.shape.convolution) : columns * depth;
  const double all = (rows * depth + right + rows * columns) * kElementBytes;
  const double batches = static_cast<double>(plan.shape.batches);
  const auto block_rows = static_cast<double>(std::min(plan.row_block, plan.part_rows()));
  const auto& a_level = rates.holding(block_rows * depth_block * kElementBytes * 2);
  const auto& b_level = rates.holding(column_block * depth_block * kElementBytes * 2);
  const auto& home = rates.holding(all * batches);
  std::vector<Stage> stages = {{"compute", steps * step_compute_s(plan, rates)},
                               {rates.near().name, steps * step_load_s(plan, rates)}};
  for (const CoreRates::Level& level : rates.levels) {
    const double bytes = (&level == &a_level ? a : 0) + (&level == &b_level ? b : 0) + (&level == &home ? all : 0);
    if (&level != &rates.near()) {
      stages.push_back({level.name, bytes / level.bytes_per_s});
    }
  }
  const Stage slowest = slowest_of(stages);
  plan.slowest = slowest.name;
  const double updates_s = c / std::max(home.bytes_per_s, rates.far().bytes_per_s);
  plan.ns = (slowest.seconds + updates_s + packing_s(plan, rows, columns, depth, rates)) * 1e9;
  return plan;
}

}  // namespace ridgeline::operations
