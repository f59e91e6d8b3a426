// Which operations of a recording with shapes are those of the step, on graphs that are made by hand.
#include "operations/work/recorded_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "step/changes/step_operations.h"

namespace ridgeline::operations {
namespace {

using ::testing::ElementsAre;

constexpr const char* kProduct =
    R"(["aten::addmm.default",["t:float32:4:1","t:float32:8,16:16,1","t:float32:16,4:4,1"],{}])";
constexpr const char* kUnknown = R"(["own::op.default",["t:float32:8:1"],{}])";

class Recorded {
 public:
  Recorded() {
    graph_.names = {""};
    graph_.operations.emplace_back();
    keys_ = {.keys = {kProduct, kUnknown}, .of_op = {}};
  }

  /// The operation's number. `key`: of kProduct (0) and kUnknown (1); -1: none.
  std::uint32_t add(const char* name, std::uint32_t parent = 0, int key = -1) {
    graph_.operations.push_back(
        {step::name_index(graph_, name), parent, static_cast<std::uint32_t>(keys_.of_op.size())});
    keys_.of_op.push_back(key);
    return static_cast<std::uint32_t>(graph_.operations.size() - 1);
  }

  /// "aten::addmm 0": the name and the key of each.
  std::vector<std::string> listed() const {
    const protocol::CapturedStep step = recorded_operations(graph_, keys_);
    std::vector<std::string> all;
    for (const protocol::CapturedOperation& one : step.operations) {
      all.push_back(step.names[static_cast<std::size_t>(one.name)] + " " + std::to_string(one.key));
    }
    return all;
  }

  /// Where step::find_recorded() finds them.
  std::vector<std::uint32_t> found() const { return step::find_recorded(graph_, recorded_operations(graph_, keys_)); }

 private:
  step::Graph graph_;
  analysis::RecordedKeys keys_;
};

TEST(RecordedOperations, AreTheOutermostWhoseWorkIsKnown) {
  Recorded step;
  const std::uint32_t linear = step.add("aten::linear");
  const std::uint32_t product = step.add("aten::addmm", linear, 0);
  step.add("aten::copy_", product);
  const std::uint32_t node = step.add("autograd::engine::evaluate_function: AddmmBackward0");
  const std::uint32_t second = step.add("aten::addmm", node, 0);
  EXPECT_THAT(step.listed(), ElementsAre("aten::addmm 0", "aten::addmm 0"));
  EXPECT_THAT(step.found(), ElementsAre(product, second));
}

TEST(RecordedOperations, AreOtherwiseTheInnermostOperators) {
  Recorded step;
  const std::uint32_t outer = step.add("own::outer");
  step.add("own::op", outer, 1);
  step.add("torch::autograd::AccumulateGrad");
  step.add("Optimizer.step#SGD.step");
  EXPECT_THAT(step.listed(), ElementsAre("own::op -1"));
}

TEST(RecordedOperations, CountOneWithoutArgumentsAmongThoseOfItsName) {
  Recorded step;
  step.add("aten::addmm", 0, 0);
  step.add("aten::addmm");
  EXPECT_THAT(step.listed(), ElementsAre("aten::addmm 0", "aten::addmm -1"));
}

}  // namespace
}  // namespace ridgeline::operations
