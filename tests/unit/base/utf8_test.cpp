#include "base/utf8.h"

#include <gtest/gtest.h>

namespace ridgeline::base {
namespace {

TEST(CutUtf8, LeavesNoHalfCharacter) {
  EXPECT_EQ(cut_utf8("aé", 2), "a");
  EXPECT_EQ(cut_utf8("aé", 3), "aé");
  EXPECT_EQ(cut_utf8("aé", 9), "aé");
  EXPECT_EQ(cut_utf8("😀", 3), "");
}

}  // namespace
}  // namespace ridgeline::base
