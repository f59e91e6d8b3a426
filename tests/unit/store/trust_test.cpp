#include "store/trust.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ridgeline::store {
namespace {

namespace fs = std::filesystem;

class Trust : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ + "/project/.git");
    trusted_ = {root_ + "/project/entry.py", root_ + "/project"};
    ASSERT_TRUE(identify(trusted_));
  }
  void TearDown() override { fs::remove_all(root_); }

  const std::string root_ =
      ::testing::TempDir() + "trust-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  Trusted trusted_;
  std::string error_;
};

TEST_F(Trust, IsKept) {
  EXPECT_FALSE(is_trusted(root_, trusted_));
  ASSERT_TRUE(add_trust(root_, trusted_, error_)) << error_;
  EXPECT_TRUE(is_trusted(root_, trusted_));
  struct stat status {};
  ASSERT_EQ(::stat((root_ + "/trust.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(Trust, IsOfOneEntry) {
  ASSERT_TRUE(add_trust(root_, trusted_, error_));
  Trusted other = trusted_;
  other.entry = root_ + "/project/other.py";
  EXPECT_FALSE(is_trusted(root_, other));
  ASSERT_TRUE(add_trust(root_, other, error_));
  EXPECT_TRUE(is_trusted(root_, trusted_));
  EXPECT_TRUE(is_trusted(root_, other));
}

TEST_F(Trust, EndsWithTheRepository) {
  ASSERT_TRUE(add_trust(root_, trusted_, error_));
  fs::create_directories(root_ + "/clone/.git");  // before the old one goes, or it may get its number
  fs::remove_all(root_ + "/project");
  fs::rename(root_ + "/clone", root_ + "/project");
  Trusted now = trusted_;
  ASSERT_TRUE(identify(now));
  EXPECT_FALSE(is_trusted(root_, now));
}

TEST_F(Trust, IsGivenToNobodyByADamagedFile) {
  for (const char* text : {"", "{", "[]", R"({"trusted": 3})", R"({"trusted": [{"entry": 3}, null]})"}) {
    std::ofstream(root_ + "/trust.json") << text;
    EXPECT_TRUE(read_trust(root_).empty()) << text;
    ASSERT_TRUE(add_trust(root_, trusted_, error_)) << text;
    EXPECT_TRUE(is_trusted(root_, trusted_)) << text;
    fs::remove(root_ + "/trust.json");
  }
}

TEST_F(Trust, SaysWhyItIsNotKept) {
  EXPECT_FALSE(add_trust(root_ + "/nowhere", trusted_, error_));
  EXPECT_NE(error_.find("nowhere"), std::string::npos);
}

TEST_F(Trust, IsBounded) {
  std::string all;
  for (int i = 0; i < 1024; ++i) {
    all += (i == 0 ? "" : ",") + std::string(R"({"entry": ")") + std::to_string(i) +
           R"(", "projectRoot": "/", "device": 1, "inode": 2})";
  }
  std::ofstream(root_ + "/trust.json") << R"({"trusted": [)" << all << "]}";
  ASSERT_EQ(read_trust(root_).size(), 1024U);
  ASSERT_TRUE(add_trust(root_, trusted_, error_)) << error_;
  EXPECT_EQ(read_trust(root_).size(), 1024U);
  EXPECT_EQ(read_trust(root_).front().entry, "1");
  EXPECT_EQ(read_trust(root_).back(), trusted_);
}

}  // namespace
}  // namespace ridgeline::store
