#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "tests/unit/temporary_folder.h"

namespace ridgeline::base {
namespace {

namespace fs = std::filesystem;

class WriteAtomically : public ::testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  testing::TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "file").string();
};

TEST_F(WriteAtomically, ReplacesWhatStandsThere) {
  EXPECT_FALSE(write_atomically(path_, "old", FileAccess::kOwner));
  EXPECT_FALSE(write_atomically(path_, "new", FileAccess::kOwner));
  EXPECT_EQ(testing::content_of(path_), "new");
  EXPECT_EQ(files(), 1U) << "a part was left";
}

TEST_F(WriteAtomically, ReplacesALinkAndLeavesItsTarget) {
  const fs::path target = folder_.path() / "target";
  ASSERT_FALSE(write_atomically(target.string(), "of another", FileAccess::kOwner));
  fs::create_symlink(target, path_);
  EXPECT_FALSE(write_atomically(path_, "ours", FileAccess::kOwner));
  EXPECT_FALSE(fs::is_symlink(path_));
  EXPECT_EQ(testing::content_of(target), "of another");
}

TEST_F(WriteAtomically, HasTheAccessThatIsAskedFor) {
  const mode_t before = ::umask(022);
  ASSERT_FALSE(write_atomically(path_, "", FileAccess::kOwner));
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_FALSE(write_atomically(path_, "", FileAccess::kUmask));
  EXPECT_EQ(fs::status(path_).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read);
  ::umask(before);
}

TEST_F(WriteAtomically, SaysWhyItCannotAndLeavesNothing) {
  EXPECT_EQ(write_atomically(folder_.path() / "none" / "file", "x", FileAccess::kOwner),
            std::errc::no_such_file_or_directory);
  fs::create_directory(path_);
  EXPECT_EQ(write_atomically(path_, "x", FileAccess::kOwner), std::errc::is_a_directory);
  EXPECT_EQ(files(), 1U);
}

TEST(UniqueSuffix, IsAnotherEachTime) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string suffix = unique_suffix();
    EXPECT_EQ(suffix.size(), 16U);
    EXPECT_EQ(suffix.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(seen.insert(suffix).second);
  }
}

}  // namespace
}  // namespace ridgeline::base
