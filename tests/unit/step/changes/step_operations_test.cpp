// Which recorded operation is which captured one, and which operations two steps share.
#include "step/changes/step_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "listed_step.h"

namespace ridgeline::step {
namespace {

using protocol::CapturedStep;
using protocol::StepPart;
using testing::captured;
using ::testing::ElementsAre;
using testing::Step;

TEST(FindRecorded, PassesOverWhatIsInsideAnOperation) {
  Step step;
  step.operation("aten::convolution", "", 10).operation("aten::copy_", "", 5);
  // A copy inside the convolution is not the one that was captured.
  step.graph.operations.insert(step.graph.operations.begin() + 2, {name_index(step.graph, "aten::copy_"), 1});
  EXPECT_THAT(find_recorded(step.graph, step.captured), ElementsAre(1U, 3U));
}

TEST(FindRecorded, MatchesStepsWhereAutogradSavesMoreThanTheEditsThatAreSearchedFor) {
  constexpr std::uint32_t kCells = 3500;
  Step step;
  std::vector<std::pair<std::string, std::string>> listed;
  for (std::uint32_t i = 0; i < kCells; ++i) {
    step.operation("aten::sigmoid_", "", 10).operation("aten::hardtanh_", "", 10);
    for (const char* name : {"aten::sigmoid_", "aten::detach", "aten::clone", "aten::hardtanh_"}) {
      listed.emplace_back(name, "");
    }
  }
  // Recorded, the clone is inside of the operation that it is for, and nothing is detached.
  std::vector<Operation> nested = {step.graph.operations.front()};
  const std::uint32_t clone = name_index(step.graph, "aten::clone");
  for (std::uint32_t i = 1; i < step.graph.operations.size(); ++i) {
    nested.push_back(step.graph.operations[i]);
    if (i % 2 == 0) {
      nested.push_back({clone, static_cast<std::uint32_t>(nested.size()) - 1});
    }
  }
  step.graph.operations = nested;
  const auto found = find_recorded(step.graph, captured(listed));
  for (std::size_t i = 0; i < kCells; ++i) {
    ASSERT_EQ(found[4 * i], 3 * i + 1) << i;
    ASSERT_EQ(found[4 * i + 1], 0U);
    ASSERT_EQ(found[4 * i + 2], 0U) << "the operation that it is in has its time";
    ASSERT_EQ(found[4 * i + 3], 3 * i + 2) << i;
  }
}

TEST(FindRecorded, LeavesOutWhatWasNotRecorded) {
  Step step;
  step.operation("aten::mm", "", 10).operation("aten::add", "", 5);
  CapturedStep more = captured({{"aten::mm", ""}, {"aten::detach", ""}, {"aten::add", ""}});
  EXPECT_THAT(find_recorded(step.graph, more), ElementsAre(1U, 0U, 2U));
}

TEST(MatchOperations, KeepsTheOrderAndThePart) {
  CapturedStep before = captured({{"aten::mm", "a"}, {"aten::add", "a"}});
  CapturedStep after = captured({{"aten::_to_copy", "a"}, {"aten::mm", "b"}, {"aten::add", "b"}});
  EXPECT_THAT(match_operations(before, after), ElementsAre(std::pair(0U, 1U), std::pair(1U, 2U)));
  after.operations[1].part = StepPart::kBackward;
  EXPECT_THAT(match_operations(before, after), ElementsAre(std::pair(1U, 2U)));
}

}  // namespace
}  // namespace ridgeline::step
