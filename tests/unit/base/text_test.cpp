#include "base/text.h"

#include <gtest/gtest.h>

namespace ridgeline::base {
namespace {

TEST(Contains, FindsAPartAnywhere) {
  EXPECT_TRUE(contains("Memcpy DtoH", "Mem"));
  EXPECT_TRUE(contains("Memcpy DtoH", "DtoH"));
  EXPECT_TRUE(contains("/env/lib/site-packages/torch", "/site-packages/"));
  EXPECT_TRUE(contains("same", "same"));
}

TEST(Contains, NeedsAllOfThePartInItsOrder) {
  EXPECT_FALSE(contains("Memcpy DtoH", "HtoD"));
  EXPECT_FALSE(contains("Memcpy", "Memcpy DtoH"));
  EXPECT_FALSE(contains("", "a"));
}

TEST(Contains, HoldsForTheEmptyPart) {
  EXPECT_TRUE(contains("a", ""));
  EXPECT_TRUE(contains("", ""));
}

TEST(Contains, LooksBeyondZeroBytes) { EXPECT_TRUE(contains(std::string_view("a\0b", 3), "b")); }

}  // namespace
}  // namespace ridgeline::base
