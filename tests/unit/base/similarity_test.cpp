#include "base/similarity.h"

#include <gtest/gtest.h>

#include <string>

namespace ridgeline::base {
namespace {

TEST(Similarity, IsTheShareOfTheLongestCommonSubsequence) {
  EXPECT_DOUBLE_EQ(similarity("profile", "profile"), 1);
  EXPECT_DOUBLE_EQ(similarity("profil", "profile"), 12.0 / 13);
  EXPECT_DOUBLE_EQ(similarity("batchsize", "batch-size"), 18.0 / 19);
  EXPECT_DOUBLE_EQ(similarity("abcd", "bcda"), 6.0 / 8);
}

TEST(Similarity, IsNoneWhereTheLengthsRuleItOut) {
  EXPECT_DOUBLE_EQ(similarity("", ""), 0);
  EXPECT_DOUBLE_EQ(similarity("", "profile"), 0);
  EXPECT_DOUBLE_EQ(similarity("p", "profile"), 0);
  EXPECT_DOUBLE_EQ(similarity(std::string(1 << 20, 'a'), "a"), 0);
}

TEST(Similarity, DecidesWhatIsNear) {
  EXPECT_GE(similarity("imprt", "import"), kLeastSimilarity);
  EXPECT_LT(similarity("frobnicate", "import"), kLeastSimilarity);
}

}  // namespace
}  // namespace ridgeline::base
