#include "operations/kernels/matmul_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "operations/kernels/matmul_model.h"
#include "operations/kernels/matmul_source.h"
#include "processor.h"

namespace ridgeline::operations {
namespace {

const std::vector<MatmulShape> kShapes = {{512, 1003, 768}, {1, 1, 1},      {1, 4096, 4096},    {7, 5, 3},
                                          {1000, 17, 129},  {64, 64, 8192}, {2048, 2048, 2048}, {100000, 3, 2}};

std::vector<MatmulPlan> plans_of(const MatmulShape& shape, double vector_bytes, int threads, std::size_t top = 1000) {
  const auto construction = construct_matmul(shape, processor(vector_bytes), threads, top);
  EXPECT_TRUE(construction.has_value());
  return construction ? construction->plans : std::vector<MatmulPlan>();
}

template <typename Check>
void for_each_plan(const Check& check) {
  for (const MatmulShape& shape : kShapes) {
    for (const double vector_bytes : {16.0, 32.0, 64.0}) {
      for (const int threads : {1, 2}) {
        const auto plans = plans_of(shape, vector_bytes, threads);
        EXPECT_FALSE(plans.empty());
        for (const MatmulPlan& plan : plans) {
          SCOPED_TRACE(testing::Message() << shape.rows << " " << shape.columns << " " << shape.depth << ", vectors of "
                                          << vector_bytes << ", " << threads << " threads, registers "
                                          << plan.register_rows << "x" << plan.register_columns);
          check(plan, vector_bytes, threads);
        }
      }
    }
  }
}

TEST(MatmulPlan, BlocksAreAlignedWithVectorsAndRegisterBlocks) {
  for_each_plan([](const MatmulPlan& plan, double vector_bytes, int /*threads*/) {
    EXPECT_EQ(plan.vector_elements * 4, vector_bytes);
    EXPECT_EQ(plan.register_columns % plan.vector_elements, 0);
    EXPECT_EQ(plan.row_block % plan.register_rows, 0);
    EXPECT_TRUE(plan.shape.columns == 1 || plan.column_block % plan.register_columns == 0);
    // Whole cache lines of A, where there is more than one block.
    EXPECT_TRUE(plan.depth_block == plan.shape.depth || plan.depth_block % 16 == 0);
  });
}

TEST(MatmulPlan, NoBlockExceedsItsLevel) {
  for_each_plan([](const MatmulPlan& plan, double vector_bytes, int threads) {
    const auto device = processor(vector_bytes);
    const std::int64_t vectors = plan.register_columns / plan.vector_elements;
    EXPECT_LE(plan.register_rows * vectors + vectors + 1, vector_bytes == 64 ? 32 : 16);
    EXPECT_LE((plan.register_rows + plan.register_columns) * plan.depth_block * 4, 48 << 10);
    EXPECT_LE(plan.row_block * plan.depth_block * 4, 1 << 20);
    EXPECT_LE(plan.column_block * plan.depth_block * 4, (32 << 20) / threads);
  });
}

TEST(MatmulPlan, PartsCoverEachElementOnce) {
  for_each_plan([](const MatmulPlan& plan, double /*vector_bytes*/, int threads) {
    EXPECT_LE(plan.row_parts * plan.column_parts, threads);
    // As the source divides C: each part but the last one is whole and a multiple of the register block.
    EXPECT_GE(plan.row_parts * plan.part_rows(), plan.shape.rows);
    EXPECT_LT((plan.row_parts - 1) * plan.part_rows(), plan.shape.rows);
    EXPECT_GE(plan.column_parts * plan.part_columns(), plan.shape.columns);
    EXPECT_LT((plan.column_parts - 1) * plan.part_columns(), plan.shape.columns);
    EXPECT_TRUE(plan.row_parts == 1 || plan.part_rows() % plan.register_rows == 0);
    EXPECT_TRUE(plan.column_parts == 1 || plan.part_columns() % plan.register_columns == 0);
  });
}

TEST(MatmulPlan, OneColumnIsComputedAlongTheDepth) {
  for (const int threads : {1, 2}) {
    const auto plans = plans_of({384, 1, 1024}, 64, threads);
    EXPECT_GT(plans.size(), 10U);
    for (const MatmulPlan& plan : plans) {
      EXPECT_LE(plan.register_rows * plan.register_columns / plan.vector_elements + 2, 32);
      EXPECT_EQ(plan.row_parts, threads);
      EXPECT_EQ(plan.depth_block, 1024);
      // A alone comes from L2 or farther: 2.6e11 bytes a second on one thread, 5.0e11 on two.
      EXPECT_GE(plan.ns, 384.0 * 1024 * 4 / (threads == 1 ? 2.6e11 : 5.0e11) * 1e9);
      EXPECT_NE(matmul_source(plan).find("inline void dots"), std::string::npos);
    }
  }
}

TEST(MatmulPlan, NoPredictionIsFasterThanThePeak) {
  for_each_plan([](const MatmulPlan& plan, double /*vector_bytes*/, int threads) {
    const MatmulShape& shape = plan.shape;
    const double flops = 2.0 * static_cast<double>(shape.rows * shape.columns) * static_cast<double>(shape.depth);
    EXPECT_GE(plan.ns, flops / (threads == 1 ? 2.6e11 : 5.0e11) * 1e9 * 0.999);
  });
}

TEST(MatmulPlan, ALargeProductIsPredictedNearThePeak) {
  const auto plans = plans_of({2048, 2048, 2048}, 64, 1, 10);
  ASSERT_EQ(plans.size(), 10U);
  EXPECT_EQ(plans.front().slowest, "compute");
  EXPECT_LT(plans.front().ns, 1.1 * 2 * 2048.0 * 2048 * 2048 / 2.6e11 * 1e9);
  EXPECT_TRUE(std::ranges::is_sorted(plans, {}, &MatmulPlan::ns));
}

TEST(MatmulPlan, AProductOfOneRowIsBoundByMemory) {
  const auto plans = plans_of({1, 8192, 8192}, 64, 1, 1);
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans.front().slowest, "memory");
  EXPECT_FALSE(plans.front().pack_b);
}

TEST(MatmulPlan, ASmallProductIsShrunkUntilEachThreadHasAPart) {
  for (const MatmulPlan& plan : plans_of({8, 16, 4096}, 64, 2)) {
    EXPECT_EQ(plan.row_parts * plan.column_parts, 2);
  }
}

// Construction time grows with the programs considered, whatever the machine.
TEST(MatmulPlan, FewProgramsAreConsidered) {
  for (const MatmulShape& shape : kShapes) {
    const auto construction = construct_matmul(shape, processor(64), 2, 10);
    ASSERT_TRUE(construction.has_value());
    EXPECT_LE(construction->considered, 100U);
    EXPECT_LE(construction->plans.size(), 10U);
  }
}

TEST(MatmulPlan, RowsThatFallIntoTheSameCacheSetsArePacked) {
  for (const MatmulPlan& plan : plans_of({256, 256, 1024}, 64, 1)) {
    EXPECT_TRUE(plan.pack_a || plan.register_rows <= 8) << plan.register_rows;
  }
  EXPECT_TRUE(std::ranges::any_of(plans_of({256, 256, 1040}, 64, 1),
                                  [](const MatmulPlan& plan) { return !plan.pack_a && plan.register_rows > 8; }));
}

TEST(MatmulPlan, ATransposedRightMatrixIsAlwaysPacked) {
  for (const MatmulPlan& plan : plans_of(*parse_matmul("linear 256 1003 768"), 64, 1)) {
    EXPECT_TRUE(plan.pack_b);
    EXPECT_NE(matmul_source(plan).find("stored column by column"), std::string::npos);
  }
}

TEST(MatmulPlan, ADeviceWithoutBandwidthsOrAGpuIsRefused) {
  auto device = processor(64);
  device.levels[1].bytes_per_s.reset();
  EXPECT_NE(construct_matmul({8, 8, 8}, device, 1, 1).error().message().find("bandwidth of L2"), std::string::npos);
  device.kind = DeviceKind::kGpu;
  EXPECT_NE(construct_matmul({8, 8, 8}, device, 1, 1).error().message().find("not a processor"), std::string::npos);
}

TEST(ParseMatmul, BatchesAndWhatIsFusedAreRead) {
  EXPECT_EQ(*parse_matmul("bmm 8 1 2 3"), (MatmulShape{1, 2, 3, 8}));
  EXPECT_EQ(*parse_matmul("matmul 1 2 3 + bias + relu"), (MatmulShape{1, 2, 3, 1, true, true}));
  EXPECT_EQ(*parse_matmul("linear 1 2 3 + relu"), (MatmulShape{1, 2, 3, 1, false, true, std::nullopt, true}));
  EXPECT_EQ(matmul_text(*parse_matmul("linear 1 2 3 + relu")), "linear 1 2 3 + relu");
  for (const char* text : {"matmul 1 2 3", "bmm 8 1 2 3 + relu", "matmul 1 2 3 + bias"}) {
    EXPECT_EQ(matmul_text(*parse_matmul(text)), text);
  }
  for (const char* bad :
       {"bmm 1 2 3", "matmul 1 2 3 + relu + bias", "matmul 1 2 3 relu", "+ relu", "bmm 99999 999 999 1"}) {
    EXPECT_FALSE(parse_matmul(bad).has_value()) << bad;
  }
}

TEST(MatmulPlan, ThreadsHaveBatchesOfTheirOwnWhereThereAreEnough) {
  for (const MatmulShape& shape : {MatmulShape{64, 64, 64, 5}, MatmulShape{64, 1, 64, 5}}) {
    const auto batched = construct_matmul(shape, processor(64), 2, 1);
    ASSERT_TRUE(batched.has_value());
    EXPECT_EQ(batched->plans.front().threads, 2);
    EXPECT_EQ(batched->plans.front().row_parts * batched->plans.front().column_parts, 1);
    const auto alone = construct_matmul({shape.rows, shape.columns, shape.depth}, processor(64), 1, 1);
    EXPECT_GE(batched->plans.front().ns, 2 * alone->plans.front().ns);
  }
}

TEST(ParseMatmul, SizesAreReadAndBounded) {
  EXPECT_EQ(*parse_matmul(" matmul 512  1003 768 "), (MatmulShape{512, 1003, 768}));
  for (const char* bad : {"", "matmul", "matmul 1 2", "matmul 1 2 3 4", "matmul 0 1 1", "matmul -1 1 1",
                          "matmul 1x 1 1", "conv 1 2 3", "matmul 99999999999999999999 1 1", "matmul 100000 100000 1"}) {
    EXPECT_FALSE(parse_matmul(bad).has_value()) << bad;
  }
}

TEST(MatmulSource, OnlySeveralPartsNeedOpenMp) {
  const auto one = matmul_source(plans_of({100, 100, 100}, 64, 1, 1).front());
  const auto two = matmul_source(plans_of({100, 100, 100}, 64, 2, 1).front());
  EXPECT_EQ(one.find("-fopenmp"), std::string::npos);
  EXPECT_NE(two.find("-fopenmp"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::operations
