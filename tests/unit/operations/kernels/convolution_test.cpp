#include "operations/kernels/convolution.h"

#include <gtest/gtest.h>

#include "operations/kernels/matmul_source.h"
#include "processor.h"

namespace ridgeline::operations {
namespace {

TEST(ParseConvolution, IsAProductForEachImage) {
  const auto shape = parse_convolution("conv 8 64 56 56 128 3 stride 2 padding 1 + relu");
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->batches, 8);
  EXPECT_EQ(shape->rows, 128);
  EXPECT_EQ(shape->columns, 28 * 28);
  EXPECT_EQ(shape->depth, 64 * 9);
  EXPECT_TRUE(shape->relu);
  EXPECT_EQ(matmul_text(*shape), "conv 8 64 56 56 128 3 stride 2 padding 1 + relu");
  EXPECT_EQ(convolution_text(*parse_convolution("conv 1 3 8 9 4 3")), "conv 1 3 8 9 4 3 stride 1 padding 0");
  const auto fused = parse_convolution("conv 1 3 8 9 4 3 + bias + relu");
  EXPECT_TRUE(fused->bias && fused->relu);
  EXPECT_EQ(convolution_text(*fused), "conv 1 3 8 9 4 3 stride 1 padding 0 + bias + relu");
  EXPECT_EQ(parse_convolution("conv 1 3 8 9 4 3 padding 2")->columns, 10 * 11);
}

TEST(ParseConvolution, ImpossibleSizesAreRefused) {
  for (const char* bad :
       {"conv 1 3 8 8 4", "conv 1 3 8 8 4 9", "conv 1 3 8 8 4 3 stride 0", "conv 1 3 8 8 4 3 padding x",
        "conv 1 3 8 8 4 3 stride", "conv 1 0 8 8 4 3", "conv 1 3 8 8 4 3 padding 1 stride 1",
        "conv 1 3 8 8 4 3 + relu + bias", "conv 99999 99999 8 8 4 3", "conv 1 1 2 2 1 2 padding 200000000"}) {
    EXPECT_FALSE(parse_convolution(bad).has_value()) << bad;
  }
}

TEST(ConvolutionPlan, PatchesAreAlwaysPackedAndNotWithoutCost) {
  const auto shape = parse_convolution("conv 2 16 30 30 24 3 padding 1");
  const auto convolution = construct_matmul(*shape, processor(64), 2, 100);
  ASSERT_TRUE(convolution.has_value());
  for (const MatmulPlan& plan : convolution->plans) {
    EXPECT_TRUE(plan.pack_b);
    const std::string source = matmul_source(plan);
    EXPECT_NE(source.find("kOutputWidth = 30"), std::string::npos);
    EXPECT_EQ(source.find('@'), std::string::npos);
  }
  const auto product = construct_matmul({24, 900, 144, 2}, processor(64), 2, 1);
  EXPECT_GT(convolution->plans.front().ns, product->plans.front().ns);
}

// One column, of which a product would have programs of its own.
TEST(ConvolutionPlan, AnImageOfTheKernelsSizeHasPrograms) {
  const auto construction = construct_matmul(*parse_convolution("conv 3 5 4 4 7 4"), processor(64), 1, 1);
  ASSERT_TRUE(construction.has_value());
  EXPECT_EQ(construction->plans.front().shape.columns, 1);
  EXPECT_EQ(matmul_source(construction->plans.front()).find("inline void dots"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::operations
