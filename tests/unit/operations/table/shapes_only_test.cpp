#include "operations/table/shapes_only.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operations/table/measuring_plan.h"
#include "tests/unit/temporary_folder.h"

namespace ridgeline::operations {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

const std::vector<std::string> kTold = {
    R"(["aten::mm.default",["t:float32:4,4:4,1","t:float32:4,4:4,1"],{}])",
    R"(["aten::gelu.default",["t:float32:4:1"],{"approximate":"s:tanh"}])",
    R"(["aten::_to_copy.default",["t:float32:4:1"],{"dtype":"d:bfloat16","device":"v:device:cuda:0"}])",
    R"(["aten::cat.default",[["t:float32:4:1","t:float32:4:1"],0],{}])",
};

const std::vector<std::string> kKeptHere = {
    R"(["acme_secret::blend.default",["t:float32:4:1"],{}])",
    R"(["profiler::_record_function_enter_new.default",["s:acme",null],{}])",
    R"(["aten::from_file.default",["s:/home/acme/rows.bin",false,4],{}])",
    R"(["aten::_assert_async.msg",["t:bool::","s:acme"],{}])",
    R"(["aten::histogramdd.default",["t:float32:4,2:2,1",["s:acme"]],{"weight":null}])",
    "no key",
};

TEST(ShapesOnly, KeepsTorchsOwnOperatorsAndTheirSettings) { EXPECT_THAT(shapes_only(kTold), ElementsAreArray(kTold)); }

TEST(ShapesOnly, LeavesOutNamesAndTextsOfTheProgram) { EXPECT_THAT(shapes_only(kKeptHere), IsEmpty()); }

TEST(MeasuringPlan, HoldsNoNamesOfTheProgram) {
  const ridgeline::testing::TemporaryFolder folder;
  auto table = OperationTable::open((folder.path() / "times.sqlite").string());
  ASSERT_TRUE(table) << table.error().message();
  std::vector<std::string> keys = kTold;
  keys.insert(keys.end(), kKeptHere.begin(), kKeptHere.end());
  const auto plan = plan_measuring(*table, "a machine", keys);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->kept_here, 6);
  EXPECT_EQ(plan->missing.size(), kTold.size());
  for (const std::string& key : plan->missing) {
    EXPECT_THAT(key, ::testing::Not(::testing::HasSubstr("acme")));
  }
}

}  // namespace
}  // namespace ridgeline::operations
