#include "store/profile_store.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <iostream>
#include <set>

#include "tests/unit/worker/places.h"

namespace ridgeline::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using worker::testing::content_of;
using worker::testing::TemporaryFolder;

ProfileKey key(const std::string& entry = "/project/entry.py") {
  return {entry, "/project", "/env/bin/python", "cpu", "a processor", 0, "0.1.0-abc"};
}

KeptProfile kept(const std::string& id, Fingerprint fingerprint = {}) {
  return {id, 1'700'000'000, "2.13.0", std::move(fingerprint)};
}

class ProfileStoreTest : public ::testing::Test {
 protected:
  ProfileStore open(const StoreBounds& bounds = {}) {
    ProfileStore store(bounds);
    const auto opened = store.open(folder_.path().string());
    EXPECT_TRUE(opened) << opened.error().message();
    notice_ = *opened;
    return store;
  }
  void add(ProfileStore& store, const std::string& id, const std::string& report = "{}",
           const ProfileKey& under = key()) {
    const auto added = store.add(under, kept(id), report);
    EXPECT_TRUE(added) << added.error().message();
  }
  static std::vector<std::string> ids(ProfileStore& store, const ProfileKey& under = key()) {
    const auto found = store.find(under);
    EXPECT_TRUE(found) << found.error().message();
    std::vector<std::string> ids;
    for (const KeptProfile& profile : *found) {
      ids.push_back(profile.id);
    }
    return ids;
  }
  static StoreTotals totals(ProfileStore& store) {
    const auto totals = store.totals();
    EXPECT_TRUE(totals) << totals.error().message();
    return *totals;
  }
  /// Nothing when it is not stored.
  static std::optional<std::string> report(ProfileStore& store, const std::string& id) {
    auto report = store.report(id);
    EXPECT_TRUE(report) << report.error().message();
    return *report;
  }
  std::string file() const { return (folder_ / "profiles.sqlite").string(); }
  /// As another program, or a damage, would: with no part of ours.
  void run_sql(const char* sql) const {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &connection), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(connection);
    sqlite3_close(connection);
  }
  void expect_refused(const std::string& reason) {
    ProfileStore store;
    const auto opened = store.open(folder_.path().string());
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message(), HasSubstr(reason));
    EXPECT_THAT(opened.error().message(), HasSubstr(file()));
    // Every other call then fails.
    EXPECT_FALSE(store.add(key(), kept("a"), "{}"));
    EXPECT_FALSE(store.find(key()));
  }

  TemporaryFolder folder_;
  std::string notice_;
};

TEST_F(ProfileStoreTest, RemembersWhatTheLastRunOfAKindTook) {
  ProfileStore store = open();
  EXPECT_EQ(*store.last_duration(key(), "10 s"), std::nullopt);
  ASSERT_TRUE(store.keep_duration(key(), "10 s", 41.5));
  ASSERT_TRUE(store.keep_duration(key(), "0.1 s", 5));
  ASSERT_TRUE(store.keep_duration(key(), "10 s", 40));
  ProfileStore again = open();
  EXPECT_EQ(*again.last_duration(key(), "10 s"), 40);
  EXPECT_EQ(*again.last_duration(key(), "0.1 s"), 5);
  EXPECT_EQ(*again.last_duration(key("/project/other.py"), "10 s"), std::nullopt);
  ProfileKey newer = key();
  newer.version = "0.2.0-def";
  EXPECT_EQ(*again.last_duration(newer, "10 s"), 40);
  newer.machine = "another processor";
  EXPECT_EQ(*again.last_duration(newer, "10 s"), std::nullopt);
}

TEST_F(ProfileStoreTest, RemembersABoundedNumberOfDurations) {
  ProfileStore store = open();
  ASSERT_TRUE(store.keep_duration(key("/project/first.py"), "10 s", 1));
  for (int i = 0; i < 1024; ++i) {
    ASSERT_TRUE(store.keep_duration(key(), std::to_string(i), i));
  }
  EXPECT_EQ(*store.last_duration(key("/project/first.py"), "10 s"), std::nullopt);
  EXPECT_EQ(*store.last_duration(key(), "0"), 0);
}

TEST_F(ProfileStoreTest, PutsAnotherReportInThePlaceOfOne) {
  ProfileStore store = open();
  add(store, "a", "{}");
  add(store, "b", "{}");
  const std::int64_t before = totals(store).bytes;
  EXPECT_TRUE(store.replace("a", "{\"tried\": 96}"));
  EXPECT_EQ(report(store, "a"), "{\"tried\": 96}");
  EXPECT_EQ(report(store, "b"), "{}");
  EXPECT_EQ(totals(store).bytes, before + 11);
  EXPECT_EQ(ids(store).size(), 2U);
  EXPECT_TRUE(store.replace("gone", "{}"));
  EXPECT_EQ(totals(store).profiles, 2);
}

TEST_F(ProfileStoreTest, KeepsWhatItWasGiven) {
  const Fingerprint fingerprint{{{"/project/entry.py", 12, "aa"}, {"/project/it's \"model\".py", 7, "bb"}}, true};
  {
    ProfileStore store = open();
    EXPECT_TRUE(store.add(key(), kept("one", fingerprint), "{\"a\": 1}"));
  }
  ProfileStore store = open();
  const auto stored = store.find(key());
  ASSERT_TRUE(stored) << stored.error().message();
  const std::vector<KeptProfile>& found = *stored;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "one");
  EXPECT_EQ(found[0].created_s, 1'700'000'000);
  EXPECT_EQ(found[0].torch, "2.13.0");
  EXPECT_TRUE(found[0].fingerprint.whole);
  EXPECT_EQ(found[0].fingerprint.files, fingerprint.files);
  EXPECT_EQ(report(store, "one"), "{\"a\": 1}");
  EXPECT_EQ(report(store, "two"), std::nullopt);
  EXPECT_EQ(notice_, "");
}

TEST_F(ProfileStoreTest, IsForTheUserAlone) {
  ProfileStore store = open();
  add(store, "one");
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << entry.path();
  }
}

TEST_F(ProfileStoreTest, FindsTheNewestFirstUnderTheWholeKey) {
  ProfileStore store = open();
  for (const char* id : {"one", "two", "three"}) {
    add(store, id);
  }
  EXPECT_THAT(ids(store), ElementsAre("three", "two", "one"));
  using Change = void (*)(ProfileKey&);
  for (const Change change :
       {Change([](ProfileKey& other) { other.entry += "x"; }),
        Change([](ProfileKey& other) { other.project_root = "/"; }),
        Change([](ProfileKey& other) { other.interpreter = "/python"; }),
        Change([](ProfileKey& other) { other.device = "cuda"; }), Change([](ProfileKey& other) { other.machine = ""; }),
        Change([](ProfileKey& other) { other.memory_limit_bytes = 1; }),
        Change([](ProfileKey& other) { other.code = "nets"; }),
        Change([](ProfileKey& other) { other.version = "0.2.0"; }),
        Change([](ProfileKey& other) { other.entry = "' OR '1' = '1"; })}) {
    ProfileKey other = key();
    change(other);
    EXPECT_THAT(ids(store, other), IsEmpty());
  }
}

TEST_F(ProfileStoreTest, FindsTheNewestInAFolder) {
  ProfileStore store = open();
  const auto add_in = [&](const std::string& id, const std::string& project, const std::string& entry) {
    ProfileKey under = key();
    under.project_root = project;
    under.entry = project + entry;
    add(store, id, "{}", under);
  };
  add_in("one", "/home/a", "/models/entry.py");
  add_in("two", "/home/a", "/entry.py");
  add_in("other", "/home/ab", "/entry.py");
  const auto newest = [&](const std::string& folder) {
    const auto found = store.newest_in(folder);
    EXPECT_TRUE(found) << found.error().message();
    return found->has_value() ? (*found)->profile.id : "none";
  };
  EXPECT_EQ(newest("/home/a"), "two");
  EXPECT_EQ(newest("/home/a/models"), "two") << "of the project that the folder is in";
  EXPECT_EQ(newest("/home"), "other");
  EXPECT_EQ(newest("/"), "other");
  EXPECT_EQ(newest("/home/b"), "none");
  EXPECT_EQ(newest("/home/a%"), "none");
}

TEST_F(ProfileStoreTest, FindsProfilesOfAnEntryThatWereMadeWithOtherOptions) {
  ProfileStore store = open();
  ProfileKey limited = key();
  limited.memory_limit_bytes = 1U << 30U;
  limited.code = "timm";
  add(store, "one", "{}", limited);
  add(store, "two");
  add(store, "other", "{}", key("/project/other.py"));
  ProfileKey older = key();
  older.version = "0.0.9";
  add(store, "old", "{}", older);
  const auto found = store.find_of_entry(key());
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->front().profile.id, "two");
  EXPECT_EQ(found->back().key.memory_limit_bytes, 1U << 30U);
  EXPECT_EQ(found->back().key.code, "timm");
  const auto by_id = store.find_id("old");
  ASSERT_TRUE(by_id && by_id->has_value());
  EXPECT_EQ((*by_id)->key.version, "0.0.9");
  EXPECT_EQ((*by_id)->profile.torch, "2.13.0");
  EXPECT_FALSE(store.find_id("none")->has_value());
}

TEST_F(ProfileStoreTest, RemovesOneWithItsFiles) {
  ProfileStore store = open();
  EXPECT_TRUE(store.add(key(), kept("one", {{{"/a.py", 1, "aa"}}, true}), "{}"));
  add(store, "two");
  EXPECT_TRUE(store.remove("one"));
  EXPECT_THAT(ids(store), ElementsAre("two"));
  SQLite::Database database(file());
  EXPECT_EQ(database.execAndGet("SELECT COUNT(*) FROM files").getInt(), 0);
}

TEST_F(ProfileStoreTest, DropsWhatWasNotUsedForTheLongestBeyondTheNumber) {
  ProfileStore store = open({3, 1 << 20});
  for (const char* id : {"one", "two", "three"}) {
    add(store, id);
  }
  EXPECT_TRUE(report(store, "one").has_value());  // used now
  add(store, "four");
  EXPECT_THAT(ids(store), ElementsAre("four", "three", "one"));
}

TEST_F(ProfileStoreTest, IsBoundedInBytes) {
  ProfileStore store = open({100, 10'000});
  for (const char* id : {"one", "two", "three"}) {
    add(store, id, std::string(4000, 'x'));
  }
  EXPECT_THAT(ids(store), ElementsAre("three", "two"));
  EXPECT_LE(totals(store).bytes, 10'000);
  const auto added = store.add(key(), kept("four"), std::string(10'001, 'x'));
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message(), HasSubstr("larger than all that is kept"));
  EXPECT_EQ(totals(store).profiles, 2);
}

TEST_F(ProfileStoreTest, ItsFileStaysBounded) {
  ProfileStore store = open({100, 1 << 20});
  for (int i = 0; i < 60; ++i) {
    add(store, std::to_string(i), std::string(100'000, 'x'));
  }
  EXPECT_EQ(totals(store).profiles, 10);
  EXPECT_LT(std::filesystem::file_size(file()), 3U << 20U);
}

TEST_F(ProfileStoreTest, DropsAReportThatIsNotWhatWasWritten) {
  {
    ProfileStore store = open();
    add(store, "a", R"({"timeMs": 12})");
    add(store, "b", R"({"timeMs": 12})");
    add(store, "c", R"({"timeMs": 12})");
    ASSERT_TRUE(store.replace("b", R"({"timeMs": 13})"));
  }
  run_sql("UPDATE profiles SET report = '{\"timeMs\": 92}' WHERE id = 'a'");
  run_sql("UPDATE profiles SET report_hash = '' WHERE id = 'c'");  // as an older version writes it
  ProfileStore store = open();
  const auto damaged = store.report("a");
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message(), HasSubstr("the stored profile a was damaged"));
  EXPECT_EQ(report(store, "a"), std::nullopt) << "it was dropped";
  EXPECT_EQ(report(store, "b"), R"({"timeMs": 13})");
  EXPECT_EQ(report(store, "c"), R"({"timeMs": 12})");
  EXPECT_THAT(ids(store), ElementsAre("c", "b"));
}

TEST_F(ProfileStoreTest, MovesAsideWhatIsNoDatabase) {
  folder_.file("profiles.sqlite", "certainly no database, but as long as a header would be: " + std::string(200, '.'));
  ProfileStore store = open();
  EXPECT_THAT(notice_, HasSubstr("damaged"));
  EXPECT_THAT(content_of(folder_ / "profiles.sqlite.damaged"), HasSubstr("certainly no database"));
  add(store, "one");
  EXPECT_THAT(ids(store), ElementsAre("one"));
}

TEST_F(ProfileStoreTest, BeginsAnewWhenPagesAreDamaged) {
  {
    ProfileStore store = open();
    for (int i = 0; i < 20; ++i) {
      add(store, std::to_string(i), std::string(20'000, 'x'));
    }
  }
  const auto size = std::filesystem::file_size(file());
  {
    std::fstream damaged(file(), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(8192);
    damaged << std::string(size - 8192, '\xA5');
  }
  ProfileStore store = open();
  // The damage is reported by the call that notices it, and a profile added afterwards is stored.
  const auto found = store.find(key());
  EXPECT_THAT(notice_ + found.error().message(), HasSubstr("damaged"));
  add(store, "new");
  EXPECT_EQ(report(store, "new"), "{}");
  EXPECT_TRUE(std::filesystem::exists(file() + ".damaged"));
}

TEST_F(ProfileStoreTest, AddsAfterADamageThatItMeetsWhileAdding) {
  {
    ProfileStore store = open();
    add(store, "one");
  }
  std::filesystem::resize_file(file(), 5000);  // cut
  ProfileStore store = open();
  add(store, "new");
  EXPECT_EQ(report(store, "new"), "{}");
}

TEST_F(ProfileStoreTest, LeavesTheDatabaseOfAnotherProgramAlone) {
  run_sql("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')");
  const std::string before = content_of(file());
  expect_refused("another program");
  EXPECT_EQ(content_of(file()), before);
}

TEST_F(ProfileStoreTest, LeavesTheDatabaseOfANewerVersionAlone) {
  {
    ProfileStore store = open();
    add(store, "one");
  }
  run_sql("PRAGMA user_version = 99");
  expect_refused("newer Ridgeline");
  run_sql("PRAGMA user_version = 1");
  ProfileStore store = open();
  EXPECT_THAT(ids(store), ElementsAre("one"));
}

TEST_F(ProfileStoreTest, RefusesAFolderOrALinkInItsPlace) {
  std::filesystem::create_directory(file());
  expect_refused("cannot be used");
  std::filesystem::remove(file());
  std::filesystem::create_symlink(folder_ / "elsewhere", file());
  expect_refused("cannot be used");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(ProfileStoreTest, SaysThatTheDiskIsFull) {
  ProfileStore store = open();
  add(store, "one");
  // A limit on the size of files fails writes as a full disk does.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto added = store.add(key(), kept("two"), std::string(1 << 20, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, ignored);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message(), HasSubstr("cannot be written"));
  EXPECT_THAT(ids(store), ElementsAre("one"));
  add(store, "three");
  EXPECT_THAT(ids(store), ElementsAre("three", "one"));
}

TEST_F(ProfileStoreTest, SeveralProcessesAddAtOnce) {
  constexpr int kProcesses = 4;
  constexpr int kEach = 25;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      ProfileStore store;
      const auto opened = store.open(folder_.path().string());  // they make the tables at once, too
      base::Result<void> added = opened ? base::Result<void>() : opened.error();
      for (int i = 0; added && i < kEach; ++i) {
        added = store.add(key(), kept(std::to_string(process) + "-" + std::to_string(i)), "{}");
      }
      std::cerr << added.error().message();
      ::_exit(added ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ProfileStore store = open();
  EXPECT_EQ(totals(store).profiles, kProcesses * kEach);
}

TEST(NewProfileId, IsOfItsOwnAndHexadecimal) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    const std::string id = new_profile_id();
    EXPECT_EQ(id.size(), 16U);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 100U);
}

}  // namespace
}  // namespace ridgeline::store
