// Plans for a GPU: tiles, grids, and what is predicted.
#include "operations/kernels/cuda_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "operations/device/data_sheets.h"
#include "operations/device/tile_model.h"
#include "operations/kernels/operation.h"

namespace ridgeline::operations {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Ranked<CudaPlan> cuda_plans(const std::string& operation, std::size_t top = 10) {
  const auto found = construct_cuda(*parse_operation(operation), *find_data_sheet("V100-PCIE"), top);
  EXPECT_TRUE(found) << found.error().message();
  return found ? *found : Ranked<CudaPlan>();
}

TEST(CudaPlan, ALargeProductsBestTileIsTheWhiteBoxModelsWithoutSplits) {
  const auto gpu = find_data_sheet("V100-PCIE");
  const auto found = cuda_plans("matmul 4096 4096 1024");
  auto tilings = product_tilings({1, 4096, 4096, 1024}, *gpu);
  std::erase_if(tilings, [](const TileEstimate& one) { return one.splits > 1; });
  const auto best = std::ranges::min_element(tilings, {}, &TileEstimate::ns);
  ASSERT_EQ(found.plans.size(), 10U);
  EXPECT_EQ(found.plans[0].tile_rows, best->tile_rows);
  EXPECT_EQ(found.plans[0].tile_columns, best->tile_columns);
  EXPECT_DOUBLE_EQ(found.plans[0].ns, 2 * best->ns);  // with 16 warps of a multiprocessor
  EXPECT_TRUE(std::ranges::is_sorted(found.plans, {}, &CudaPlan::ns));
}

TEST(CudaPlan, ASmallProductsTilesLeaveWarpsThatHideWhatOthersWaitFor) {
  const auto gpu = find_data_sheet("H100");
  const auto found = construct_cuda(*parse_operation("matmul 1024 1024 1024"), *gpu, 100);
  ASSERT_TRUE(found) << found.error().message();
  // The white-box model's best tiles have a block of four warps for each multiprocessor.
  const auto tilings = product_tilings({1, 1024, 1024, 1024}, *gpu);
  const auto best = std::ranges::min_element(tilings, {}, &TileEstimate::ns);
  const CudaPlan& first = found->plans.front();
  EXPECT_LT(first.tile_rows * first.tile_columns, best->tile_rows * best->tile_columns);
}

TEST(CudaPlan, BlocksAndThreadsCoverTheResult) {
  for (const char* operation :
       {"matmul 61 103 77", "bmm 3 500 20 64 + bias", "conv 2 5 13 11 7 3 stride 2 padding 1"}) {
    for (const CudaPlan& plan : cuda_plans(operation).plans) {
      const auto& shape = std::get<MatmulShape>(plan.operation);
      EXPECT_GE(plan.blocks_down * plan.tile_rows, shape.rows);
      EXPECT_LT((plan.blocks_down - 1) * plan.tile_rows, shape.rows);
      EXPECT_GE(plan.blocks_across * plan.tile_columns, shape.columns);
      EXPECT_LT((plan.blocks_across - 1) * plan.tile_columns, shape.columns);
      EXPECT_EQ(plan.batches, shape.batches);
      EXPECT_EQ(plan.threads * plan.thread_rows * plan.thread_columns, plan.tile_rows * plan.tile_columns);
      EXPECT_GE(plan.threads, 64);
      EXPECT_LE(plan.threads, 1024);
    }
  }
}

TEST(CudaPlan, ChainsTakeAsLongAsTheirBytes) {
  const auto memory = find_data_sheet("V100-PCIE")->levels.back().bytes_per_s->all.value;
  const auto chain = cuda_plans("elementwise 4096 1024 = x * y + b[1024]");
  ASSERT_EQ(chain.plans.size(), 1U);
  EXPECT_DOUBLE_EQ(chain.plans[0].ns, 4 * (3 * 4096 * 1024 + 1024) / memory * 1e9);
  // The narrowest tile has most blocks: 32 of 80 multiprocessors read.
  const auto reduction = cuda_plans("reduce sum 4096 256 dim 0");
  EXPECT_DOUBLE_EQ(reduction.plans[0].ns, 4 * (4096 * 256 + 256) / memory * 80 / 32 * 1e9);
  EXPECT_EQ(reduction.plans[0].tile_columns, 8);
}

TEST(CudaPlan, WhatIsNotDescribedIsAnError) {
  auto unknown = *find_data_sheet("V100-PCIE");
  unknown.levels.clear();
  for (const char* operation : {"matmul 8 8 8", "elementwise 8 8 = relu(x)", "reduce sum 8 8 dim 1"}) {
    const auto found = construct_cuda(*parse_operation(operation), unknown, 10);
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message(), HasSubstr("not described well enough"));
  }
}

TEST(CudaPlan, SourcesHaveNoTokensLeft) {
  for (const char* operation : {"matmul 61 103 77 + bias + relu", "conv 2 5 13 11 7 3 + bias",
                                "elementwise 9 8 = gelu(x) / y", "reduce mean 9 8 dim 0", "reduce max 9 8 dim 1"}) {
    const std::string source = cuda_source(cuda_plans(operation, 1).plans.at(0));
    EXPECT_THAT(source, Not(HasSubstr("@")));
    EXPECT_THAT(source, HasSubstr("extern \"C\" __global__ void "));
  }
}

}  // namespace
}  // namespace ridgeline::operations
