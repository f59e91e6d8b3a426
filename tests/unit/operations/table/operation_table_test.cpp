#include "operations/table/operation_table.h"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace ridgeline::operations {
namespace {

using ridgeline::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr std::int64_t kThen = 1'700'000'000;
const Conditions kHere{"a processor", 2, "2.13.0"};
const std::string kAdd = R"(["aten::add.Tensor",["t:float32:4:1","t:float32:4:1"],{}])";
const std::string kMatrix = R"(["aten::mm.default",["t:float32:4,4:4,1","t:float32:4,4:4,1"],{}])";

class OperationTableTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  OperationTable open(const std::string& name) const {
    auto table = OperationTable::open(path(name));
    EXPECT_TRUE(table) << table.error().message();
    return std::move(*table);
  }
  static std::optional<OperationTime> find(OperationTable& table, const std::string& key,
                                           const Conditions& conditions = kHere) {
    const auto found = table.find(conditions, std::vector{key});
    EXPECT_TRUE(found) << found.error().message();
    return found->at(0);
  }
  static void add(OperationTable& table, const OperationTime& time, std::int64_t now_s = kThen) {
    const auto added = table.add(kHere, std::vector{time}, now_s);
    EXPECT_TRUE(added) << added.error().message();
  }

  TemporaryFolder folder_;
};

TEST(OperationTime, IsTheMedianWithinTheSamples) {
  const OperationTime odd = time_of(kAdd, std::vector<double>{30, 10, 20});
  EXPECT_EQ(odd.ns, 20);
  EXPECT_EQ(odd.low, 10);
  EXPECT_EQ(odd.high, 30);
  EXPECT_EQ(odd.samples, 3);
  EXPECT_EQ(time_of(kAdd, std::vector<double>{10, 40, 20, 30}).ns, 25);
}

TEST_F(OperationTableTest, RemembersAcrossConnections) {
  {
    OperationTable table = open("times");
    add(table, time_of(kAdd, std::vector<double>{10, 20, 30}));
  }
  OperationTable again = open("times");
  ASSERT_TRUE(find(again, kAdd).has_value());
  EXPECT_EQ(find(again, kAdd)->ns, 20);
  EXPECT_FALSE(find(again, kMatrix).has_value());
}

TEST_F(OperationTableTest, TimesHoldUnderTheirConditionsOnly) {
  OperationTable table = open("times");
  add(table, time_of(kAdd, std::vector<double>{10}));
  EXPECT_FALSE(find(table, kAdd, {"another processor", 2, "2.13.0"}).has_value());
  EXPECT_FALSE(find(table, kAdd, {"a processor", 1, "2.13.0"}).has_value());
  EXPECT_FALSE(find(table, kAdd, {"a processor", 2, "2.14.0"}).has_value());
}

TEST_F(OperationTableTest, RemembersWhatCannotBeMeasured) {
  OperationTable table = open("times");
  add(table, {.key = kAdd, .reason = "it needs data of its own"});
  ASSERT_TRUE(find(table, kAdd).has_value());
  EXPECT_EQ(find(table, kAdd)->reason, "it needs data of its own");
}

TEST_F(OperationTableTest, MergesTheNewerOfTwoTimes) {
  OperationTable table = open("times");
  add(table, time_of(kAdd, std::vector<double>{10}), kThen);
  add(table, time_of(kMatrix, std::vector<double>{100}), kThen + 10);
  {
    OperationTable other = open("other");
    add(other, time_of(kAdd, std::vector<double>{20}), kThen + 5);
    add(other, time_of(kMatrix, std::vector<double>{200}), kThen + 5);
  }
  const auto added = table.merge(path("other"));
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_EQ(added->added, 0);
  EXPECT_EQ(added->replaced, 1);
  EXPECT_EQ(added->older, 1);
  EXPECT_EQ(find(table, kAdd)->ns, 20);
  EXPECT_EQ(find(table, kMatrix)->ns, 100);
}

TEST_F(OperationTableTest, ExportsWhatCanBeMerged) {
  OperationTable table = open("times");
  add(table, time_of(kAdd, std::vector<double>{10}));
  const auto written = table.export_to(path("export"));
  ASSERT_TRUE(written) << written.error().message();
  OperationTable other = open("other");
  EXPECT_EQ(other.merge(path("export"))->added, 1);
  EXPECT_EQ(find(other, kAdd)->ns, 10);
  const auto again = table.export_to(path("export"));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr("exists already"));
}

TEST_F(OperationTableTest, DoesNotTakeTimesThatCannotBe) {
  OperationTable table = open("times");
  {
    OperationTable other = open("other");
    add(other, {.key = kAdd, .ns = -1, .low = -1, .high = -1, .samples = 1});
    add(other, {.key = kMatrix, .ns = 10, .low = 20, .high = 5, .samples = 1});
    add(other, {.key = "", .ns = 1, .low = 1, .high = 1, .samples = 1});
    add(other, time_of(R"(["aten::t.default",[],{}])", std::vector<double>{5}), kThen * 100);  // measured in the future
  }
  const auto added = table.merge(path("other"));
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_EQ(added->added, 0);
  EXPECT_EQ(added->unsound, 4);
  EXPECT_EQ(*table.count(), 0);
}

TEST_F(OperationTableTest, RefusesOtherFiles) {
  std::ofstream(path("text")) << "not a database, but long enough to be read as one: " << std::string(4096, 'x');
  OperationTable table = open("times");
  EXPECT_FALSE(table.merge(path("text")));
  EXPECT_FALSE(table.merge(path("missing")));
  EXPECT_FALSE(OperationTable::open(path("text")));
}

TEST_F(OperationTableTest, ListsTheSlowestFirst) {
  OperationTable table = open("times");
  add(table, time_of(kAdd, std::vector<double>{10}));
  add(table, time_of(kMatrix, std::vector<double>{100}));
  const auto listed = table.list(1);
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 1U);
  EXPECT_EQ(listed->front().time.key, kMatrix);
  EXPECT_EQ(*table.count(), 2);
}

TEST_F(OperationTableTest, ShowsTimesThatContradictEachOther) {
  OperationTable table = open("times");
  add(table, time_of(kAdd, std::vector<double>{10, 11}), kThen);
  add(table, time_of(kMatrix, std::vector<double>{100, 120}), kThen);
  const std::vector<ListedTime> others = {
      {kHere, time_of(kAdd, std::vector<double>{20, 21}), kThen + 1, "another machine"},
      {kHere, time_of(kMatrix, std::vector<double>{110, 130}), kThen - 1, "another machine"}};
  const auto merged = table.add_rows(others);
  ASSERT_TRUE(merged) << merged.error().message();
  EXPECT_EQ(merged->conflicts, 1);
  ASSERT_EQ(merged->shown.size(), 1U);
  EXPECT_EQ(merged->shown[0].kept.source, "another machine");
  EXPECT_EQ(merged->shown[0].dropped.time.high, 11);
  EXPECT_EQ(find(table, kMatrix)->ns, 110);  // of 100 and 120: the older time was not taken
}

TEST_F(OperationTableTest, KeepsWhoMeasured) {
  OperationTable table = open("times");
  ASSERT_TRUE(table.add(kHere, std::vector{time_of(kAdd, std::vector<double>{10})}, kThen, "machine a"));
  ASSERT_TRUE(table.export_to(path("export")));
  OperationTable other = open("other");
  ASSERT_TRUE(other.merge(path("export")));
  const auto listed = other.list(1);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->at(0).source, "machine a");
}

TEST_F(OperationTableTest, FindsTheNewestOnADevice) {
  OperationTable table = open("times");
  ASSERT_TRUE(table.add({"A100", 1, "2.1"}, std::vector{time_of(kAdd, std::vector<double>{10})}, kThen));
  ASSERT_TRUE(table.add({"A100", 2, "2.2"}, std::vector{time_of(kAdd, std::vector<double>{20})}, kThen + 1));
  const auto found = table.find_on("A100", std::vector{kAdd, kMatrix});
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->at(0).has_value());
  EXPECT_EQ(found->at(0)->time.ns, 20);
  EXPECT_FALSE(found->at(1).has_value());
}

/// A table as the version before provenance wrote it.
TEST_F(OperationTableTest, ReadsAndUpgradesTheFirstVersion) {
  {
    SQLite::Database old(path("old"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    old.exec(
        "CREATE TABLE operation_times (key TEXT NOT NULL, device TEXT NOT NULL, threads INTEGER NOT NULL, torch TEXT "
        "NOT NULL, ns REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, samples INTEGER NOT NULL, reason TEXT NOT "
        "NULL, measured INTEGER NOT NULL, PRIMARY KEY (key, device, threads, torch)) WITHOUT ROWID; PRAGMA "
        "application_id = 1382641520; PRAGMA user_version = 1; INSERT INTO operation_times VALUES ('k', 'd', 1, 't', "
        "5, 5, 5, 1, '', 1700000000)");
  }
  OperationTable table = open("times");
  ASSERT_TRUE(table.merge(path("old")));
  EXPECT_EQ(*table.count(), 1);
  OperationTable upgraded = open("old");
  EXPECT_EQ(upgraded.list(1)->at(0).source, "");
  EXPECT_FALSE(upgraded.list(1)->at(0).time.peak_bytes.has_value());
  const OperationTime one{.key = "k", .ns = 4, .low = 4, .high = 4, .samples = 1, .peak_bytes = 4096};
  ASSERT_TRUE(upgraded.add({"d", 1, "t"}, {&one, 1}, 1'800'000'000));
  EXPECT_EQ(upgraded.list(1)->at(0).time.peak_bytes, 4096U);
}

/// Times of processors, which have a peak, were measured in another way before version 4.
TEST_F(OperationTableTest, LeavesOutTimesOfProcessorsOfTheThirdVersion) {
  {
    OperationTable third = open("third");
    const OperationTime on_host{.key = "k", .ns = 4, .low = 4, .high = 4, .samples = 1, .peak_bytes = 4096};
    const OperationTime on_device{.key = "k", .ns = 2, .low = 2, .high = 2, .samples = 1};
    ASSERT_TRUE(third.add({"processor", 1, "t"}, {&on_host, 1}, 1'700'000'000));
    ASSERT_TRUE(third.add({"gpu", 1, "t"}, {&on_device, 1}, 1'700'000'000));
  }
  SQLite::Database(path("third"), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 3");
  OperationTable table = open("times");
  const auto merged = table.merge(path("third"));
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->added, 1);
  EXPECT_EQ(merged->outdated, 1);
  EXPECT_EQ(table.list(2)->at(0).conditions.device, "gpu");
  OperationTable upgraded = open("third");
  EXPECT_EQ(*upgraded.count(), 1);
  EXPECT_EQ(upgraded.list(2)->at(0).conditions.device, "gpu");
}

}  // namespace
}  // namespace ridgeline::operations
