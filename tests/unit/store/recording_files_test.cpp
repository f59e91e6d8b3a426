#include "store/recording_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tests/unit/temporary_folder.h"

namespace ridgeline::store {
namespace {

using ::ridgeline::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

class RecordingFilesTest : public ::testing::Test {
 protected:
  /// `age`: how many seconds ago.
  void add(const std::string& id, const std::string& content, int age, const RecordingBounds& bounds = {}) {
    const auto added = add_recording(folder(), id, content, bounds);
    ASSERT_TRUE(added) << added.error().message();
    if (fs::exists(file(id))) {
      fs::last_write_time(file(id), fs::file_time_type::clock::now() - std::chrono::seconds(age));
    }
  }
  std::optional<std::string> read(const std::string& id) {
    auto content = read_recording(folder(), id);
    EXPECT_TRUE(content) << content.error().message();
    return *content;
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& each : fs::directory_iterator(temporary_ / "recordings")) {
      names.insert(each.path().filename());
    }
    return names;
  }
  std::string folder() const { return temporary_.path(); }
  fs::path file(const std::string& id) const { return temporary_ / ("recordings/" + id); }

  TemporaryFolder temporary_;
};

TEST_F(RecordingFilesTest, KeepsThoseOfTheLastProfilesForTheUserAlone) {
  add("a1", "first", 50);
  add("a2", std::string("second\0\n", 8), 40);
  temporary_.file("recordings/a3.0123.part", "of a process that was killed");
  add("a4", "fourth", 20);
  EXPECT_EQ(read("a1"), "first");
  EXPECT_EQ(read("a2"), std::string("second\0\n", 8));
  add("a5", "fifth", 10);
  EXPECT_EQ(read("a1"), std::nullopt);
  EXPECT_THAT(names(), ElementsAre("a2", "a3.0123.part", "a4", "a5"));
  EXPECT_EQ(fs::status(file("a5")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(file("")).permissions(), fs::perms::owner_all);
}

TEST_F(RecordingFilesTest, IsBoundedInBytes) {
  const RecordingBounds bounds{.recordings = 4, .bytes = 100};
  add("a1", std::string(30, 'x'), 30, bounds);
  add("a2", std::string(30, 'x'), 20, bounds);
  EXPECT_THAT(names(), ElementsAre("a1", "a2"));
  add("a3", std::string(30, 'x'), 10, bounds);
  EXPECT_THAT(names(), ElementsAre("a2", "a3"));
  add("a4", std::string(90, 'x'), 5, bounds);  // more than all that may be kept
  EXPECT_THAT(names(), ElementsAre("a2", "a3"));
}

TEST_F(RecordingFilesTest, DropsWhatWasDamaged) {
  for (const std::string damaged : {"", "short", "longer than a hash, and without one"}) {
    temporary_.file("recordings/a1", damaged);
    const auto content = read_recording(folder(), "a1");
    ASSERT_FALSE(content) << damaged;
    EXPECT_THAT(content.error().message(), HasSubstr("a1 was damaged"));
    EXPECT_EQ(read("a1"), std::nullopt);
  }
}

TEST_F(RecordingFilesTest, FindsNothingElsewhere) {
  temporary_.file("secret", "text");
  EXPECT_EQ(read("../secret"), std::nullopt);
  EXPECT_EQ(read(""), std::nullopt);
  const auto added = add_recording(temporary_ / "secret", "a1", "text");
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message(), HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace ridgeline::store
