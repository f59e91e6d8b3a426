#include "worker/guard/write_rules.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <vector>

namespace ridgeline::worker {
namespace {

const WritablePaths kWritable = {{"/tmp/own", "/dev/shm", "/home/me/.cache"}, {"/dev/shm/data"}};

Verdict of(Change change, const std::string& path, Found found, int flags = 0) {
  const std::vector<Attempt> attempts = {{change, flags, {path, found, true}}};
  return judge(attempts, kWritable);
}

Verdict opening(const std::string& path, Found found, int flags) { return of(Change::kOpen, path, found, flags); }

TEST(WriteRules, EndACommandThatChangesAFile) {
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  EXPECT_EQ(opening("/home/me/a.pt", Found::kNothing, kWrite), Verdict::kEnd);
  EXPECT_EQ(opening("/run/media/me/a.pt", Found::kFile, kWrite), Verdict::kEnd);
  EXPECT_EQ(opening("/tmp/a.pt", Found::kFile, O_RDONLY | O_TRUNC), Verdict::kEnd);
  EXPECT_EQ(opening("/home/me/log", Found::kFile, O_WRONLY | O_APPEND), Verdict::kEnd);
  EXPECT_EQ(opening("/home/me/pipe", Found::kOther, O_WRONLY), Verdict::kEnd);
  EXPECT_EQ(opening("/home/me", Found::kFolder, O_TMPFILE | O_RDWR), Verdict::kEnd);
  EXPECT_EQ(opening("/dev/sda", Found::kOther, O_RDWR), Verdict::kEnd);
  EXPECT_EQ(of(Change::kMake, "/home/me/runs", Found::kNothing), Verdict::kEnd);
  EXPECT_EQ(of(Change::kRemove, "/home/me/a.pt", Found::kFile), Verdict::kEnd);
  EXPECT_EQ(of(Change::kReplace, "/home/me/a.pt", Found::kFile), Verdict::kEnd);
  EXPECT_EQ(of(Change::kAlter, "/home/me/a.pt", Found::kFile), Verdict::kEnd);
}

TEST(WriteRules, AllowPlacesAndDevices) {
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  EXPECT_EQ(opening("/tmp/own/a", Found::kNothing, kWrite), Verdict::kAllow);
  EXPECT_EQ(opening("/tmp/own", Found::kFolder, O_TMPFILE | O_RDWR), Verdict::kAllow);
  EXPECT_EQ(of(Change::kRemove, "/tmp/own", Found::kFolder), Verdict::kEnd);
  EXPECT_EQ(opening("/tmp/owner", Found::kNothing, kWrite), Verdict::kEnd);
  EXPECT_EQ(opening("/home/me/.cache/torch/a", Found::kFile, kWrite), Verdict::kAllow);
  EXPECT_EQ(opening("/dev/null", Found::kDevice, kWrite), Verdict::kAllow);
  EXPECT_EQ(of(Change::kRemove, "/dev/null", Found::kDevice), Verdict::kEnd);
  EXPECT_EQ(opening("/dev/shm/torch_1", Found::kNothing, O_RDWR | O_CREAT | O_EXCL), Verdict::kAllow);
  EXPECT_EQ(opening("/dev/shm/data", Found::kFile, kWrite), Verdict::kEnd) << "it was there before";
  EXPECT_EQ(opening("/dev/shm/data/a", Found::kNothing, kWrite), Verdict::kEnd);
}

TEST(WriteRules, LeaveToTheKernelWhatFailsOrChangesNothing) {
  EXPECT_EQ(of(Change::kMake, "/home/me", Found::kFolder), Verdict::kAllow) << "os.makedirs(..., exist_ok=True)";
  EXPECT_EQ(of(Change::kRemove, "/home/me/none", Found::kNothing), Verdict::kAllow);
  EXPECT_EQ(of(Change::kAlter, "/home/me/none", Found::kNothing), Verdict::kAllow);
  EXPECT_EQ(opening("/home/me/none/a", Found::kNoFolder, O_WRONLY | O_CREAT), Verdict::kAllow);
  EXPECT_EQ(opening("/home/me/none", Found::kNothing, O_RDWR), Verdict::kAllow);
  EXPECT_EQ(opening("/home/me", Found::kFolder, O_WRONLY), Verdict::kAllow);
  EXPECT_EQ(opening("/home/me/a", Found::kFile, O_WRONLY | O_CREAT | O_EXCL), Verdict::kAllow);
  EXPECT_EQ(opening("/home/me/a", Found::kFile, O_RDONLY | O_CREAT), Verdict::kAllow);
  const std::vector<Attempt> forbidden = {{Change::kOpen, O_WRONLY, {"/etc/passwd", Found::kFile, false}}};
  EXPECT_EQ(judge(forbidden, kWritable), Verdict::kAllow) << "the user may not write there";
}

TEST(WriteRules, RefuseWhatReadersAskFor) {
  EXPECT_EQ(opening("/data/a.db", Found::kFile, O_RDWR | O_CREAT), Verdict::kRefuse) << "SQLite reads it then";
  EXPECT_EQ(opening("/lib/__pycache__/a.pyc.1", Found::kNothing, O_WRONLY | O_CREAT | O_EXCL), Verdict::kRefuse);
  EXPECT_EQ(of(Change::kMake, "/lib/__pycache__", Found::kNothing), Verdict::kRefuse);
}

TEST(WriteRules, JudgeBothPathsOfACall) {
  const auto moved = [](const std::string& from, Found found, const std::string& to) {
    const std::vector<Attempt> attempts = {{Change::kRemove, 0, {from, found, true}},
                                           {Change::kReplace, 0, {to, Found::kFile, true}}};
    return judge(attempts, kWritable);
  };
  EXPECT_EQ(moved("/tmp/own/a", Found::kFile, "/tmp/own/b"), Verdict::kAllow);
  EXPECT_EQ(moved("/tmp/own/a", Found::kFile, "/home/me/b"), Verdict::kEnd);
  EXPECT_EQ(moved("/home/me/a", Found::kFile, "/tmp/own/b"), Verdict::kEnd);
  EXPECT_EQ(moved("/tmp/own/a", Found::kNothing, "/home/me/b"), Verdict::kAllow) << "it fails";
  const std::vector<Attempt> linked = {{Change::kLinked, 0, {"/home/me/a", Found::kFile, true}},
                                       {Change::kMake, 0, {"/tmp/own/b", Found::kNothing, true}}};
  EXPECT_EQ(judge(linked, kWritable), Verdict::kRefuse) << "it could be written by that name";
}

}  // namespace
}  // namespace ridgeline::worker
