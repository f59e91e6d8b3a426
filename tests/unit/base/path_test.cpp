#include "base/path.h"

#include <gtest/gtest.h>

namespace ridgeline::base {
namespace {

TEST(RelativeTo, IsThePartBelowTheFolder) {
  EXPECT_EQ(relative_to("/a/b/c.py", "/a"), "b/c.py");
  EXPECT_EQ(relative_to("/a/b/c.py", "/a/"), "b/c.py");
  EXPECT_EQ(relative_to("/c.py", "/"), "c.py");
}

TEST(RelativeTo, IsNothingElsewhere) {
  for (const char* path : {"/a", "/a/", "/ab/c.py", "/b/a/c.py", "a/c.py", ""}) {
    EXPECT_EQ(relative_to(path, "/a"), std::nullopt) << path;
  }
  EXPECT_EQ(relative_to("/a/c.py", ""), std::nullopt);
  EXPECT_EQ(relative_to("/", "/"), std::nullopt);
}

TEST(IsBelow, IsNotTheFolderItself) {
  EXPECT_TRUE(is_below("/a/b", "/a"));
  EXPECT_FALSE(is_below("/a", "/a"));
}

}  // namespace
}  // namespace ridgeline::base
