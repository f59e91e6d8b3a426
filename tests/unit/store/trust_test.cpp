#include "store/trust.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "store/repository_mark.h"
#include "tests/unit/temporary_folder.h"

namespace ridgeline::store {
namespace {

namespace fs = std::filesystem;
using testing::content_of;
using testing::TemporaryFolder;

/// As `git clone` does, as far as consent can tell.
void clone(const fs::path& folder) {
  fs::create_directories(folder / ".git");
  std::ofstream(folder / ".git/HEAD") << "ref: refs/heads/main\n";
  std::ofstream(folder / "entry.py") << "import torch\n";
}

/// A file system that gives the same inode to whatever comes to the same place, and remembers no birth.
std::optional<FileIdentity> forgetful(const std::string& path) {
  if (!fs::exists(fs::symlink_status(path))) {
    return std::nullopt;
  }
  return FileIdentity{1, std::hash<std::string>()(path), 0};
}

/// One that remembers births of another time than the test's: what is made anew has the same inode and another birth.
struct Births {
  std::optional<FileIdentity> operator()(const std::string& path) const {
    auto identity = forgetful(path);
    if (identity.has_value()) {
      identity->birth_ns = *now;
    }
    return identity;
  }
  std::shared_ptr<std::uint64_t> now = std::make_shared<std::uint64_t>(1);
};

class Trust : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(cache_);
    clone(project_);
  }

  std::optional<ProjectIdentity> now(const IdentityOf& identity_of = file_identity) const {
    return identify(project_ / "entry.py", project_, identity_of);
  }
  void agree(const IdentityOf& identity_of = file_identity) {
    leave_mark_for(project_ / "entry.py");
    const auto added = add_trust(cache_, now(identity_of).value());
    ASSERT_TRUE(added) << added.error().message();
  }
  bool trusted(const IdentityOf& identity_of = file_identity) const {
    const auto found = now(identity_of);
    return found.has_value() && is_trusted(cache_, *found);
  }

  const TemporaryFolder folder_;
  const fs::path project_ = folder_ / "project";
  const fs::path cache_ = folder_ / "cache";
  const fs::path mark_ = project_ / ".git/ridgeline-consent";
};

TEST_F(Trust, IsKept) {
  EXPECT_FALSE(trusted());
  agree();
  EXPECT_TRUE(trusted());
  EXPECT_EQ(fs::status(cache_ / "trust.json").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(mark_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Trust, IsOfOneEntry) {
  std::ofstream(project_ / "other.py") << "\n";
  agree();
  const auto other = identify(project_ / "other.py", project_).value();
  EXPECT_FALSE(is_trusted(cache_, other));
  ASSERT_TRUE(add_trust(cache_, other));
  EXPECT_TRUE(is_trusted(cache_, other));
  EXPECT_TRUE(trusted());
}

TEST_F(Trust, OutlivesWhatGitDoesInsideOfARepository) {
  agree();
  fs::remove(project_ / "entry.py");
  std::ofstream(project_ / "entry.py") << "import os\n";
  EXPECT_TRUE(trusted());
}

// The file system gives the same inodes again: nothing but the mark tells.
TEST_F(Trust, EndsWithTheRepositoryWhereNoBirthIsKnown) {
  agree(forgetful);
  ASSERT_TRUE(trusted(forgetful));
  fs::remove_all(project_);
  clone(project_);
  EXPECT_FALSE(trusted(forgetful));
  leave_mark_for(project_ / "entry.py");
  EXPECT_FALSE(trusted(forgetful)) << "another mark";
}

TEST_F(Trust, EndsWithTheRepositoryWhereNoMarkCanBeLeft) {
  const Births births;
  fs::create_directory(mark_);  // as good as a folder that cannot be written to, which root can
  agree(births);
  ASSERT_FALSE(now(births)->mark.has_value());
  ASSERT_TRUE(trusted(births));
  *births.now += 1;
  EXPECT_FALSE(trusted(births));
}

TEST_F(Trust, EndsWithTheFileWhereThereIsNoRepository) {
  fs::remove_all(project_ / ".git");
  const Births births;
  agree(births);
  ASSERT_TRUE(trusted(births));
  *births.now += 1;
  EXPECT_FALSE(trusted(births));
}

TEST_F(Trust, IsNotKeptWhereNothingTells) {
  fs::remove_all(project_ / ".git");
  EXPECT_FALSE(now(forgetful)->lasting);
  agree(forgetful);
  EXPECT_FALSE(trusted(forgetful));
}

TEST_F(Trust, IsNotInheritedByACopy) {
  agree();
  fs::rename(project_, folder_ / "original");
  fs::copy(folder_ / "original", project_, fs::copy_options::recursive);
  ASSERT_EQ(content_of(mark_), content_of(folder_ / "original/.git/ridgeline-consent"));
  EXPECT_FALSE(trusted());
  const auto elsewhere = identify(folder_ / "original/entry.py", folder_ / "original").value();
  EXPECT_FALSE(is_trusted(cache_, elsewhere));
}

// What remains of a worktree when its folder was just deleted: the part of it in the repository, with the mark.
TEST_F(Trust, EndsWithAWorktree) {
  const fs::path tree = folder_ / "tree";
  const auto make = [&] {
    fs::create_directories(tree);
    std::ofstream(tree / ".git") << "gitdir: ../project/.git/worktrees/tree\n";
    std::ofstream(tree / "entry.py") << "\n";
  };
  fs::create_directories(project_ / ".git/worktrees/tree");
  std::ofstream(project_ / ".git/worktrees/tree/HEAD") << "ref: refs/heads/tree\n";
  make();
  Births births;
  const auto identity = [&](const IdentityOf& of) { return identify(tree / "entry.py", tree, of).value(); };
  leave_mark_for(tree / "entry.py");
  EXPECT_TRUE(fs::exists(project_ / ".git/worktrees/tree/ridgeline-consent"));
  EXPECT_FALSE(identity(forgetful).lasting);
  ASSERT_TRUE(add_trust(cache_, identity(births)));
  EXPECT_TRUE(is_trusted(cache_, identity(births)));
  const auto mark = identity(births).mark;
  fs::remove_all(tree);
  make();
  const auto made_later = [&](const std::string& path) {
    auto found = births(path);
    if (path.starts_with(tree.string())) {
      found->birth_ns = 2;
    }
    return found;
  };
  ASSERT_EQ(identity(made_later).mark, mark);
  EXPECT_FALSE(is_trusted(cache_, identity(made_later)));
}

// A repository in the home folder, as some keep their settings, is none of a project that was unpacked below it.
TEST_F(Trust, EndsWithTheEntrysFolder) {
  const fs::path entry = project_ / "unpacked/entry.py";
  fs::create_directory(entry.parent_path());
  std::ofstream(entry) << "\n";
  leave_mark_for(entry);
  ASSERT_TRUE(add_trust(cache_, identify(entry, project_).value()));
  ASSERT_TRUE(is_trusted(cache_, identify(entry, project_).value()));
  fs::rename(entry.parent_path(), project_ / "before");
  fs::create_directory(entry.parent_path());
  std::ofstream(entry) << "\n";
  EXPECT_FALSE(is_trusted(cache_, identify(entry, project_).value()));
  EXPECT_FALSE(identify(entry, project_, forgetful)->lasting);
}

TEST_F(Trust, IsNotOfAMarkThatSomebodyElseCouldHaveLeft) {
  const std::string digits(32, 'a');
  const auto is_none = [&](const char* what) {
    EXPECT_FALSE(now()->mark.has_value()) << what;
    leave_mark_for(project_ / "entry.py");
    EXPECT_EQ(now()->mark.has_value(), !fs::is_directory(mark_)) << what << ": one of ours takes its place";
    fs::remove_all(mark_);
  };
  std::ofstream(folder_ / "digits") << digits << "\n";
  ::chmod((folder_ / "digits").c_str(), 0600);
  fs::create_symlink(folder_ / "digits", mark_);
  is_none("a link");
  EXPECT_EQ(content_of(folder_ / "digits"), digits + "\n") << "nothing is written through a link";
  ASSERT_EQ(::mkfifo(mark_.c_str(), 0600), 0);
  is_none("a pipe");
  fs::create_directory(mark_);
  is_none("a folder");
  for (const std::string& text : {std::string(), digits, digits.substr(1) + "\n", digits + "a\n",
                                  "x" + digits.substr(1) + "\n", std::string(std::size_t{1} << 20U, 'a')}) {
    std::ofstream(mark_) << text;
    ::chmod(mark_.c_str(), 0600);
    is_none(text.substr(0, 40).c_str());
  }
  std::ofstream(mark_) << digits << "\n";
  ::chmod(mark_.c_str(), 0644);
  is_none("one that others read");
  std::ofstream(mark_) << digits << "\n";
  ::chmod(mark_.c_str(), 0600);
  if (::chown(mark_.c_str(), 12345, 12345) == 0) {
    is_none("another user's");
  }
}

TEST_F(Trust, FollowsNoFileThatNamesNoRepository) {
  for (const std::string& text :
       {std::string(), std::string("gitdir: "), std::string("gitdir: ../nowhere"), std::string("gitdir: ..\n"),
        std::string("gitdir: /proc/self/fd/0"), "gitdir: " + std::string(std::size_t{1} << 20U, 'x')}) {
    fs::remove_all(project_ / ".git");
    std::ofstream(project_ / ".git") << text;
    EXPECT_EQ(find_repository(project_)->folder, "") << text.substr(0, 40);
    EXPECT_FALSE(now()->mark.has_value());
  }
  fs::remove(project_ / ".git");
  ASSERT_EQ(::mkfifo((project_ / ".git").c_str(), 0600), 0);
  EXPECT_EQ(find_repository(project_)->folder, "");
}

TEST_F(Trust, ReadsTheCommitThatARepositoryHasCheckedOut) {
  const fs::path git = project_ / ".git";
  const std::string first(40, 'a');
  const std::string second(40, 'b');
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((git / name).parent_path());
    std::ofstream(git / name) << text;
  };
  const auto commit = [&] { return head_commit(*find_repository(project_)).value_or("none"); };
  fs::remove_all(git);
  write("HEAD", first + "\n");
  EXPECT_EQ(commit(), first) << "no branch";
  write("HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(commit(), "none") << "no commit yet";
  write("packed-refs", "# pack-refs with: peeled\n" + first + " refs/heads/mainly\n" + second + " refs/heads/main\n");
  EXPECT_EQ(commit(), second);
  write("refs/heads/main", first + "\n");
  EXPECT_EQ(commit(), first);
  for (const char* head : {"ref: ../HEAD\n", "ref: /etc/passwd\n", "", "ref: ", "not a commit\n"}) {
    write("HEAD", head);
    EXPECT_EQ(commit(), "none") << head;
  }
}

TEST_F(Trust, IsGivenToNobodyByADamagedFile) {
  for (const char* text : {"", "{", "[]", R"({"trusted": 3})", R"({"trusted": [{"entry": 3}, null]})",
                           R"({"trusted": [{"entry": "a", "projectRoot": "b", "device": 1, "inode": 2}]})",
                           R"({"trusted": [{"entry": "a", "projectRoot": "b", "places": [{"inode": -1}]}]})"}) {
    std::ofstream(cache_ / "trust.json") << text;
    EXPECT_TRUE(read_trust(cache_).empty()) << text;
    agree();
    EXPECT_TRUE(trusted()) << text;
    fs::remove(cache_ / "trust.json");
  }
}

TEST_F(Trust, SaysWhyItIsNotKept) {
  const auto added = add_trust(folder_ / "nowhere", now().value());
  EXPECT_FALSE(added);
  EXPECT_NE(added.error().message().find("nowhere"), std::string::npos);
}

TEST_F(Trust, IsBounded) {
  std::string all;
  for (int i = 0; i < 1024; ++i) {
    all += (i == 0 ? "" : ",") + std::string(R"({"entry": ")") + std::to_string(i) +
           R"(", "projectRoot": "/", "places": [{"fileSystem": 1, "inode": 2, "birthNs": 3}]})";
  }
  std::ofstream(cache_ / "trust.json") << R"({"trusted": [)" << all << "]}";
  ASSERT_EQ(read_trust(cache_).size(), 1024U);
  EXPECT_TRUE(was_trusted(cache_, "0"));
  agree();
  EXPECT_EQ(read_trust(cache_).size(), 1024U);
  EXPECT_EQ(read_trust(cache_).front().entry, "1");
  EXPECT_TRUE(trusted());
  EXPECT_FALSE(was_trusted(cache_, "0"));
}

}  // namespace
}  // namespace ridgeline::store
