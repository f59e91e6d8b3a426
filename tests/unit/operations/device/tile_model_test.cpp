#include "operations/device/tile_model.h"

#include <gtest/gtest.h>

#include "operations/device/data_sheets.h"
#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"

namespace ridgeline::operations {
namespace {

const Device& v100() {
  static const Device kDevice = *find_data_sheet("V100");
  return kDevice;
}

TEST(TileModel, ALargeProductReachesThePeak) {
  const auto estimate = estimate_product({1, 8192, 8192, 8192}, v100());
  ASSERT_TRUE(estimate.has_value());
  const double bound = 2.0 * 8192 * 8192 * 8192 / 15.7e12 * 1e9;
  EXPECT_GE(estimate->ns, bound * 0.999);
  EXPECT_LE(estimate->ns, bound * 1.1);
  EXPECT_EQ(estimate->useful, 1);
}

TEST(TileModel, APartialLastTileAndWaveCost) {
  // One row of tiles more than divides the shape: the tiles of the last one are nearly empty.
  const auto even = estimate_product({1, 2560, 2048, 4096}, v100());
  const auto odd = estimate_product({1, 2561, 2048, 4096}, v100());
  ASSERT_TRUE(even && odd);
  EXPECT_EQ(even->useful, 1);
  EXPECT_LT(odd->useful, 1);
  EXPECT_GT(odd->ns, 1.02 * even->ns);
}

TEST(TileModel, ANarrowProductIsBoundByLoading) {
  const auto estimate = estimate_product({1, 65536, 1024, 2}, v100());
  ASSERT_TRUE(estimate.has_value());
  EXPECT_EQ(estimate->slowest, TileStage::kLoad);
}

TEST(TileModel, NeverBelowTheRoofline) {
  for (const std::int64_t rows : {7, 130, 1003, 4096}) {
    for (const std::int64_t depth : {3, 64, 2048}) {
      const auto estimate = estimate_product({1, rows, 768, depth}, v100());
      ASSERT_TRUE(estimate.has_value());
      OperationWork work{OperationKind::kMatrix, "float32", 2.0 * static_cast<double>(rows * 768 * depth), 0, 0};
      EXPECT_GE(estimate->ns, 0.999 * roofline_bound(work, v100(), v100().compute_units)->ns);
    }
  }
}

TEST(TileModel, ShapesComeFromKeys) {
  const auto call = parse_call(
      R"(["aten::convolution.default",["t:float32:2,6,9,9:486,81,9,1","t:float32:8,6,3,3:54,9,3,1",null,[2,2],[1,1],[1,1],false,[0,0],1],{}])");
  const auto shape = product_of(*call);
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->rows, 2 * 25);
  EXPECT_EQ(shape->columns, 8);
  EXPECT_EQ(shape->depth, 54);
  EXPECT_DOUBLE_EQ(shape->left_reuse, 2.25);
  EXPECT_FALSE(product_of(*parse_call(R"(["aten::relu.default",["t:float32:4:1"],{}])")).has_value());
}

TEST(TileModel, OnlyForDevicesWhoseTilesAreKnown) {
  Device cpu = v100();
  cpu.kind = DeviceKind::kCpu;
  EXPECT_FALSE(estimate_product({1, 64, 64, 64}, cpu).has_value());
  EXPECT_FALSE(estimate_product({1, 64, 64, 64, 1, "int8"}, v100()).has_value());
}

}  // namespace
}  // namespace ridgeline::operations
