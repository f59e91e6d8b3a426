#include "operations/kernels/cuda_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "operations/device/bank_conflicts.h"
#include "operations/device/tile_model.h"
#include "operations/kernels/sizes.h"

namespace ridgeline::operations {

namespace {

constexpr std::int64_t kLeastThreads = 64;   // of a block of a product: two warps
constexpr std::int64_t kUsualThreads = 256;  // of others
constexpr std::int64_t kMostThreads = 1024;
constexpr std::int64_t kThreadsOfUnit = 512;  // of products: with 128 registers each
constexpr std::int64_t kElementsOfThread = 4;
constexpr std::int64_t kMostAcross = 65535;  // blocks down, and layers, of a grid
// Measured with the programs of cuda_source.cpp on an H100, tests/gpu/kernels.py: docs/dev/architecture/kernels.md.
constexpr double kHidingWarps = 16;  // of a multiprocessor, with which its programs reach half of what the tiles allow
constexpr double kGatherRows = 28;   // of a convolution's tile, that take as long as finding an element of the image

base::Error not_described(const Device& gpu) {
  return base::error(gpu.name +
                     " is not described well enough: float32's peak, the bandwidth of its memory and of shared memory "
                     "are needed; `ridgeline machine show NAME` shows what is known");
}

const char* stage_name(TileStage stage) {
  return stage == TileStage::kCompute ? "compute" : stage == TileStage::kShared ? "shared" : "memory";
}

/// What the tile model reads: of a convolution, places of the output are the rows, which windows share.
ProductShape product_shape(const MatmulShape& shape) {
  ProductShape product{shape.batches, shape.rows, shape.columns, shape.depth, 1, "float32"};
  if (shape.convolution) {
    std::swap(product.rows, product.columns);
    const double overlap =
        static_cast<double>(shape.convolution->kernel) / static_cast<double>(shape.convolution->stride);
    product.left_reuse = std::max(1.0, overlap * overlap);
  }
  return product;
}

/// What the tile model leaves out: warps wait for loads, which others hide, and an image's elements have to be found.
double slowdown(const CudaPlan& plan, bool is_image, int units) {
  const std::int64_t blocks = divided_up(plan.blocks_across * plan.blocks_down * plan.batches, units);
  const std::int64_t resident =
      std::clamp(kThreadsOfUnit / plan.threads, std::int64_t{1}, std::max(blocks, std::int64_t{1}));
  const auto warps = static_cast<double>(resident * plan.threads) / kWarpThreads;
  return (1 + kHidingWarps / warps) * (is_image ? 1 + kGatherRows / static_cast<double>(plan.tile_rows) : 1);
}

CudaPlan product_plan(const MatmulShape& shape, const TileEstimate& tile, int units) {
  CudaPlan plan{shape, tile.tile_rows, tile.tile_columns};
  if (shape.convolution) {
    std::swap(plan.tile_rows, plan.tile_columns);
  }
  std::int64_t side = 8;  // elements of a thread, each way: as the model has it, unless too few threads are left
  while (side > 1 && plan.tile_rows / side * (plan.tile_columns / side) < kLeastThreads) {
    side /= 2;
  }
  plan.thread_rows = plan.thread_columns = side;
  plan.threads = plan.tile_rows / side * (plan.tile_columns / side);
  plan.blocks_across = divided_up(shape.columns, plan.tile_columns);
  plan.blocks_down = divided_up(shape.rows, plan.tile_rows);
  plan.batches = shape.batches;
  plan.useful = tile.useful;
  plan.last_wave = tile.last_wave_fill;
  plan.ns = tile.ns * slowdown(plan, shape.convolution.has_value(), units);
  plan.slowest = stage_name(tile.slowest);
  return plan;
}

base::Result<Ranked<CudaPlan>> construct(const MatmulShape& shape, const Device& gpu, std::size_t top) {
  std::vector<CudaPlan> plans;
  for (const TileEstimate& tile : product_tilings(product_shape(shape), gpu)) {
    CudaPlan plan = product_plan(shape, tile, gpu.compute_units);
    if (tile.splits == 1 && plan.blocks_down <= kMostAcross && plan.batches <= kMostAcross) {
      plans.push_back(std::move(plan));
    }
  }
  if (plans.empty()) {
    return shape.batches > kMostAcross ? base::error("a grid has at most 65,535 layers: give fewer batches")
                                       : not_described(gpu);
  }
  return ranked(std::move(plans), top);
}

/// Moves each tensor once, when as many units work as there are blocks.
base::Result<Ranked<CudaPlan>> by_bytes(std::vector<CudaPlan> plans, std::int64_t elements, const Device& gpu,
                                        std::size_t top) {
  const auto& memory = gpu.levels.empty() ? std::nullopt : gpu.levels.back().bytes_per_s;
  if (!memory || gpu.compute_units < 1) {
    return not_described(gpu);
  }
  for (CudaPlan& plan : plans) {
    const double busy = std::min(1.0, static_cast<double>(plan.blocks_across) / gpu.compute_units);
    plan.ns = static_cast<double>(elements) * kElementBytes / (memory->all.value * busy) * 1e9;
    plan.slowest = "memory";
  }
  return ranked(std::move(plans), top);
}

base::Result<Ranked<CudaPlan>> construct(const ElementwiseShape& shape, const Device& gpu, std::size_t top) {
  const std::int64_t all = shape.rows * shape.columns;
  CudaPlan plan{shape, 1, kUsualThreads * kElementsOfThread, 1, kElementsOfThread, kUsualThreads};
  plan.blocks_across = divided_up(all, plan.tile_columns);
  std::int64_t elements = all;
  for (const Operand& operand : shape.expression.operands) {
    elements += operand.is_row ? shape.columns : all;
  }
  return by_bytes({std::move(plan)}, elements, gpu, top);
}

base::Result<Ranked<CudaPlan>> construct(const ReductionShape& shape, const Device& gpu, std::size_t top) {
  std::vector<CudaPlan> plans;
  if (shape.dim == 1) {
    plans.push_back({shape, 1, 1, 1, 1, kUsualThreads, shape.rows});
  } else {
    for (const std::int64_t columns :
         {kWarpThreads, kWarpThreads / 2, kWarpThreads / 4}) {  // the last: of one transaction
      plans.push_back({shape, 1, columns, 1, 1, kMostThreads, divided_up(shape.columns, columns)});
    }
  }
  return by_bytes(std::move(plans), shape.rows * shape.columns + shape.results(), gpu, top);
}

}  // namespace

base::Result<Ranked<CudaPlan>> construct_cuda(const Operation& operation, const Device& gpu, std::size_t top) {
  return std::visit([&](const auto& shape) { return construct(shape, gpu, top); }, operation);
}

}  // namespace ridgeline::operations
