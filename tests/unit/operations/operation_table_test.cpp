#include "operations/operation_table.h"

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
  EXPECT_EQ(*added, 1);
  EXPECT_EQ(find(table, kAdd)->ns, 20);
  EXPECT_EQ(find(table, kMatrix)->ns, 100);
}

TEST_F(OperationTableTest, ExportsWhatCanBeMerged) {
  OperationTable table = open("times");
  add(table, time_of(kAdd, std::vector<double>{10}));
  const auto written = table.export_to(path("export"));
  ASSERT_TRUE(written) << written.error().message();
  OperationTable other = open("other");
  EXPECT_EQ(*other.merge(path("export")), 1);
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
  EXPECT_EQ(*added, 0);
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

}  // namespace
}  // namespace ridgeline::operations
