#include "base/lock_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <variant>

#include "tests/unit/temporary_folder.h"

namespace ridgeline::base {
namespace {

TEST(LockFile, IsHeldWhileItsOwnerLives) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "lock";
  {
    const auto first = LockFile::take(path, "the first");
    ASSERT_TRUE(std::holds_alternative<LockFile>(first));
    const auto second = LockFile::take(path, "the second");
    ASSERT_TRUE(std::holds_alternative<LockFile::Held>(second));
    EXPECT_EQ(std::get<LockFile::Held>(second).by, "the first");
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::holds_alternative<LockFile>(LockFile::take(path, "")));
  EXPECT_TRUE(std::holds_alternative<LockFile::Problem>(LockFile::take(folder / "no/lock", "")));
}

}  // namespace
}  // namespace ridgeline::base
