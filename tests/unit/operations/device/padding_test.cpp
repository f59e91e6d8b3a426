#include "operations/device/padding.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace ridgeline::operations {
namespace {

constexpr double kCache = 1 << 20;
constexpr double kNs = 3000;

double ratio(const LinearLayer& layer, std::int64_t from, std::int64_t to) {
  return predicted_ns(std::array{layer}, from, to, kCache) / layer.ns();
}

TEST(Padding, TheSameSizeTakesTheSameTime) {
  EXPECT_DOUBLE_EQ(ratio({64, 256, 1003, kNs, kNs, kNs}, 1003, 1003), 1);
  EXPECT_DOUBLE_EQ(ratio({64, 256, 1003, kNs, kNs, kNs}, 77, 80), 1);  // it has no such width
}

TEST(Padding, ForwardHasStepsForWhatRemainsOfAVector) {
  // 63 = 7 vectors, and 4 + 2 + 1.
  EXPECT_DOUBLE_EQ(ratio({64, 256, 63, kNs, 0, 0}, 63, 64), 8 / (7 + 3 * 1.25));
  EXPECT_DOUBLE_EQ(ratio({64, 256, 64, kNs, 0, 0}, 64, 72), 9.0 / 8);
}

TEST(Padding, ADepthTakesTimeInProportion) {
  EXPECT_DOUBLE_EQ(ratio({64, 256, 63, 0, kNs, 0}, 63, 64), 64.0 / 63);  // dx = dy W
  EXPECT_DOUBLE_EQ(ratio({64, 256, 63, 0, 0, kNs}, 63, 64), 64.0 / 63);  // rows of dW
  EXPECT_DOUBLE_EQ(ratio({64, 63, 256, kNs, 0, 0}, 63, 64), 64.0 / 63);  // its inputs
}

TEST(Padding, LargeResultsTakeLongerWhereRowsAreNotAligned) {
  const LinearLayer small{64, 64, 1003, kNs, 0, 0};
  const LinearLayer large{4096, 64, 1003, kNs, 0, 0};
  EXPECT_LT(ratio(large, 1003, 1008), 0.95 * ratio(small, 1003, 1008));
}

TEST(Padding, OnlyWhatIsWorthItIsProposed) {
  const auto best = [](const LinearLayer& layer, std::int64_t size) {
    return best_padding(std::array{layer}, size, kCache);
  };
  const auto padded = best({64, 256, 63, kNs, kNs, kNs}, 63);
  ASSERT_TRUE(padded.has_value());
  EXPECT_EQ(padded->size, 64);
  EXPECT_LT(padded->ratio, kWorthPadding);
  EXPECT_FALSE(best({64, 256, 64, kNs, kNs, kNs}, 64).has_value());
  EXPECT_FALSE(best({64, 256, 65, kNs, kNs, kNs}, 65).has_value());
  EXPECT_FALSE(best({64, 256, 63, 0, 0, 0}, 63).has_value());
}

}  // namespace
}  // namespace ridgeline::operations
