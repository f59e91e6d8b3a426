#include "store/fingerprint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/content_hash.h"
#include "tests/unit/worker/places.h"

namespace ridgeline::store {
namespace {

using worker::testing::TemporaryFolder;

class FingerprintTest : public ::testing::Test {
 protected:
  Fingerprint take(const Moment& began) {
    return take_fingerprint({entry_.string(), module_.string(), entry_.string()}, began);
  }
  static bool unchanged(const Fingerprint& fingerprint) {
    FileReader reader;
    return is_unchanged(fingerprint, reader);
  }
  static Moment in(std::chrono::minutes time) {
    const Moment now;
    return {now.system + time, now.steady + time};
  }
  static Moment later() { return in(std::chrono::hours(1)); }

  TemporaryFolder folder_;
  std::filesystem::path entry_ = folder_.file("entry.py", "import model\n");
  std::filesystem::path module_ = folder_.file("model.py", "x = 1\n");
};

TEST_F(FingerprintTest, HoldsWhileNothingChanges) {
  const Fingerprint fingerprint = take(later());
  EXPECT_TRUE(fingerprint.whole);
  ASSERT_EQ(fingerprint.files.size(), 2U);
  base::ContentHash hash;
  hash.add("import model\n");
  EXPECT_EQ(fingerprint.files[0], (FileMark{entry_.string(), 13, hash.text()}));
  EXPECT_TRUE(unchanged(fingerprint));
  folder_.file("unrelated.py", "y = 2\n");
  folder_.file("model.py", "x = 1\n");  // written anew, the same
  EXPECT_TRUE(unchanged(fingerprint));
}

TEST_F(FingerprintTest, EndsWithAnyChange) {
  const Fingerprint fingerprint = take(later());
  folder_.file("model.py", "x = 2\n");  // of the same size
  EXPECT_FALSE(unchanged(fingerprint));
  folder_.file("model.py", "x = 1\n");
  EXPECT_TRUE(unchanged(fingerprint));
  std::filesystem::remove(module_);
  EXPECT_FALSE(unchanged(fingerprint));
  std::filesystem::create_directory(module_);
  EXPECT_FALSE(unchanged(fingerprint));
}

TEST_F(FingerprintTest, IsNotWholeWhenAFileChangedAfterTheRunBegan) {
  const Fingerprint fingerprint = take(in(-std::chrono::hours(1)));
  EXPECT_FALSE(fingerprint.whole);
  EXPECT_FALSE(unchanged(fingerprint));
}

TEST_F(FingerprintTest, SeesAChangeBehindATimeThatWasSetBack) {
  const Moment began = in(-std::chrono::minutes(1));
  std::filesystem::last_write_time(module_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  std::filesystem::last_write_time(entry_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_FALSE(take(began).whole);  // the inode was changed just now
}

TEST_F(FingerprintTest, IsNotWholeWhenTheClockWasSetBack) {
  Moment began = later();
  began.steady -= std::chrono::hours(1);
  EXPECT_FALSE(take(began).whole);
  began = later();
  began.system -= std::chrono::minutes(1);  // set forward: no change can hide then
  EXPECT_TRUE(take(began).whole);
}

TEST_F(FingerprintTest, IsNotWholeWithAFileThatCannotBeRead) {
  std::filesystem::remove(module_);
  EXPECT_FALSE(take(later()).whole);
  ASSERT_EQ(::mkfifo(module_.c_str(), 0600), 0);  // nobody writes to it: a plain open would wait for ever
  EXPECT_FALSE(take(later()).whole);
  EXPECT_FALSE(take_fingerprint({"/proc/self/mem"}, later()).whole);
}

TEST_F(FingerprintTest, RefusesAFileThatIsTooLarge) {
  std::filesystem::resize_file(module_, (std::uintmax_t{256} << 20U) + 1);  // sparse
  EXPECT_FALSE(take(later()).whole);
}

}  // namespace
}  // namespace ridgeline::store
