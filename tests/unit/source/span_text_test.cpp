#include "source/span_text.h"

#include <gtest/gtest.h>

#include <string>

namespace ridgeline::source {
namespace {

TEST(Slice, IsCutToTheText) {
  EXPECT_EQ(slice("abc", {1, 2}), "b");
  EXPECT_EQ(slice("abc", {1, 20}), "bc");
  EXPECT_EQ(slice("abc", {10, 20}), "");
}

TEST(DifferInNumberOnly, ComparesAllButTheLiteral) {
  const std::string before = "f(b=12)  # x";
  constexpr Span kLiteral{4, 6};
  EXPECT_TRUE(differ_in_number_only(before, kLiteral, before));
  EXPECT_TRUE(differ_in_number_only(before, kLiteral, "f(b=8)  # x"));
  EXPECT_TRUE(differ_in_number_only(before, kLiteral, "f(b=1_024)  # x"));
  EXPECT_FALSE(differ_in_number_only(before, kLiteral, "f(b=8)  # y"));
  EXPECT_FALSE(differ_in_number_only(before, kLiteral, "g(b=8)  # x"));
  EXPECT_FALSE(differ_in_number_only(before, kLiteral, "f(b=8, c=9)  # x"));
  EXPECT_FALSE(differ_in_number_only(before, kLiteral, "f(b=)  # x"));
  EXPECT_FALSE(differ_in_number_only(before, kLiteral, "f(b=SIZE)  # x"));
  EXPECT_FALSE(differ_in_number_only(before, kLiteral, "f(b=_8)  # x"));
  EXPECT_FALSE(differ_in_number_only(before, {4, 600}, "f(b=8)  # x"));
  EXPECT_FALSE(differ_in_number_only(before, {6, 4}, "f(b=8)  # x"));
}

}  // namespace
}  // namespace ridgeline::source
