#include "source/text.h"

#include <gtest/gtest.h>

namespace ridgeline::source {
namespace {

TEST(Slice, IsCutToTheText) {
  EXPECT_EQ(slice("abc", {1, 2}), "b");
  EXPECT_EQ(slice("abc", {1, 20}), "bc");
  EXPECT_EQ(slice("abc", {10, 20}), "");
}

}  // namespace
}  // namespace ridgeline::source
