// The graph of a changed step, on graphs that are made by hand.
#include "whatif/retime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulate/simulate.h"
#include "whatif/change_file.h"
#include "whatif/operation_scale.h"
#include "whatif/predict_change.h"
#include "whatif/predict_on_graph.h"
#include "whatif/step_operations.h"

namespace ridgeline::whatif {
namespace {

using graph::Graph;
using graph::Kind;
using graph::Task;
using graph::TaskId;
using protocol::CapturedStep;
using protocol::StepPart;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A step on one thread: Python and operations in turns.
class Step {
 public:
  Step() {
    graph.resources.push_back({"thread 0", graph::Resource::Type::kHost});
    graph.names = {""};
    graph.lines.emplace_back();
    graph.modules = {""};
    graph.operations.emplace_back();
    captured.modules = {""};
    append({.kind = Kind::kMark});
  }

  /// `python_ns` of Python, then an operation whose key is `name` with `shape`.
  Step& operation(const std::string& name, const std::string& shape, std::int64_t ns, std::int64_t python_ns = 0,
                  StepPart part = StepPart::kForward) {
    if (python_ns > 0) {
      append({.duration_ns = python_ns, .kind = Kind::kPython});
    }
    const auto index = static_cast<std::uint32_t>(graph.operations.size());
    graph.operations.push_back({graph::name_index(graph, name), 0});
    append({.duration_ns = ns, .operation = index, .kind = Kind::kOperation});
    capture(captured, name, shape, part);
    return *this;
  }

  /// An operation that the host launches and a device computes.
  Step& launched(const std::string& name, const std::string& shape, std::int64_t launch_ns, std::int64_t ns) {
    operation(name, shape, launch_ns);
    const TaskId launch = graph.end;
    const Task& task = graph.tasks[launch];
    if (graph.resources.size() == 1) {
      graph.resources.push_back({"device 0, stream 7", graph::Resource::Type::kDevice});
    }
    const auto id = static_cast<TaskId>(graph.tasks.size());
    graph.tasks.push_back({.duration_ns = ns, .operation = task.operation, .resource = 1, .kind = Kind::kKernel});
    graph.dependencies.push_back({launch, id, 0});
    if (last_on_device_ != graph::kNoTask) {
      graph.tasks[last_on_device_].next = id;
    }
    last_on_device_ = id;
    return *this;
  }

  /// For the device.
  Step& wait() {
    append({.kind = Kind::kWait});
    graph.dependencies.push_back({last_on_device_, graph.end, 0});
    return *this;
  }

  static void capture(CapturedStep& step, const std::string& name, const std::string& shape,
                      StepPart part = StepPart::kForward) {
    const auto index_in = [](std::vector<std::string>& texts, const std::string& text) {
      const auto found = std::ranges::find(texts, text);
      if (found == texts.end()) {
        texts.push_back(text);
        return static_cast<int>(texts.size()) - 1;
      }
      return static_cast<int>(found - texts.begin());
    };
    step.operations.push_back({index_in(step.keys, name + shape), index_in(step.names, name), 0, part});
  }

  UnchangedStep unchanged(const TimeAlone& alone) const { return unchanged_step(graph, captured, alone); }
  ChangeBasis basis(const Baseline& baseline, const TimeAlone& alone) const {
    return *change_basis(graph, captured, baseline, alone);
  }

  Graph graph;
  CapturedStep captured;

 private:
  void append(Task task) {
    const auto id = static_cast<TaskId>(graph.tasks.size());
    if (id > 0) {
      graph.tasks[graph.end].next = id;
    }
    graph.tasks.push_back(task);
    graph.end = id;
  }

  TaskId last_on_device_ = graph::kNoTask;
};

RetimedStep retimed(const Step& step, const CapturedStep& changed, const TimeAlone& alone) {
  return retime(step.unchanged(alone), changed, alone);
}

CapturedStep captured(const std::vector<std::pair<std::string, std::string>>& operations) {
  CapturedStep step;
  step.modules = {""};
  for (const auto& [name, shape] : operations) {
    Step::capture(step, name, shape);
  }
  return step;
}

TimeAlone alone(std::map<std::string, double> times, bool are_disturbed = false) {
  return [times = std::move(times), are_disturbed](const std::string& key) {
    const auto found = times.find(key);
    return found == times.end() ? std::nullopt : std::optional(AloneTime{found->second, are_disturbed});
  };
}

std::int64_t total(const Graph& graph) {
  const auto schedule = simulate::simulate(graph);
  EXPECT_TRUE(schedule);
  return schedule->total_ns;
}

protocol::Captured of(CapturedStep step, int batch_size, std::array<std::uint64_t, protocol::kStepParts> peaks = {}) {
  protocol::Captured captured;
  captured.step = std::move(step);
  captured.batch_size = batch_size;
  captured.peak_bytes = peaks;
  return captured;
}

TEST(FindRecorded, PassesOverWhatIsInsideAnOperation) {
  Step step;
  step.operation("aten::convolution", "", 10).operation("aten::copy_", "", 5);
  // A copy inside the convolution is not the one that was captured.
  step.graph.operations.insert(step.graph.operations.begin() + 2, {graph::name_index(step.graph, "aten::copy_"), 1});
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
  std::vector<graph::Operation> nested = {step.graph.operations.front()};
  const std::uint32_t clone = graph::name_index(step.graph, "aten::clone");
  for (std::uint32_t i = 1; i < step.graph.operations.size(); ++i) {
    nested.push_back(step.graph.operations[i]);
    if (i % 2 == 0) nested.push_back({clone, static_cast<std::uint32_t>(nested.size()) - 1});
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

TEST(Retime, TheSameStepStaysAsItIs) {
  Step step;
  step.operation("aten::mm", "a", 1000, 50).operation("aten::add", "a", 300, 20);
  const RetimedStep same = retimed(step, step.captured, alone({}));
  EXPECT_EQ(total(same.graph), 1370);
  EXPECT_EQ(same.changed_after_ns, 0);
}

TEST(Retime, ATimeInTheStepChangesAsTheTimeAloneDoes) {
  Step step;
  step.operation("aten::mm", "32", 1000).operation("aten::add", "32", 300);
  const CapturedStep half = captured({{"aten::mm", "16"}, {"aten::add", "32"}});
  const RetimedStep changed =
      retimed(step, half, alone({{"aten::mm32", 800}, {"aten::mm16", 200}, {"aten::add32", 300}}));
  EXPECT_EQ(total(changed.graph), 1000 / 4 + 300);
  EXPECT_DOUBLE_EQ(changed.changed_before_ns, 1000);
  EXPECT_DOUBLE_EQ(changed.changed_after_ns, 250);
  EXPECT_EQ(changed.assumed_ns, 0);
}

TEST(Retime, ANewOperationTakesWhatOthersOfItsNameTakeInTheStep) {
  Step step;
  step.operation("aten::mm", "a", 1200).operation("aten::add", "a", 300);
  const CapturedStep more = captured({{"aten::mm", "a"}, {"aten::mm", "b"}, {"aten::add", "a"}});
  // In the step, a product takes 1.2 times what it takes alone.
  const RetimedStep changed = retimed(step, more, alone({{"aten::mma", 1000}, {"aten::mmb", 500}}));
  EXPECT_EQ(total(changed.graph), 1500 + 600);
}

TEST(Retime, ANewOperationWithoutATimeTakesWhatItsNameTakesAndCountsAsAssumed) {
  Step step;
  step.operation("aten::mm", "a", 1200).operation("aten::add", "a", 300);
  const CapturedStep more = captured({{"aten::mm", "a"}, {"aten::mm", "b"}, {"aten::relu", "a"}, {"aten::add", "a"}});
  const RetimedStep changed = retimed(step, more, alone({{"aten::mma", 1000}}));
  EXPECT_EQ(total(changed.graph), 1500 + 1200) << "of relu nothing is known";
  EXPECT_DOUBLE_EQ(changed.assumed_ns, 1200);
  EXPECT_DOUBLE_EQ(changed.assumed_error_ns, 1200);
}

TEST(Retime, ADisturbedTimeCountsAsAssumed) {
  Step step;
  step.operation("aten::mm", "32", 1000);
  const RetimedStep changed =
      retimed(step, captured({{"aten::mm", "16"}}), alone({{"aten::mm32", 1000}, {"aten::mm16", 5000}}, true));
  EXPECT_EQ(total(changed.graph), 5000);
  EXPECT_DOUBLE_EQ(changed.assumed_ns, 5000);
  EXPECT_DOUBLE_EQ(changed.assumed_error_ns, 4000) << "it may not have grown at all";
}

TEST(Retime, ADisturbedTimeIsNotWhatOthersOfItsNameAreScaledBy) {
  Step step;
  step.operation("aten::mm", "long", 10'000).operation("aten::mm", "short", 1200).operation("aten::add", "", 300);
  const TimeAlone times = [](const std::string& key) -> std::optional<AloneTime> {
    if (key == "aten::mmlong") return AloneTime{100'000, true};
    return AloneTime{key == "aten::mmshort" ? 1000.0 : 500.0, false};
  };
  const CapturedStep more =
      captured({{"aten::mm", "long"}, {"aten::mm", "short"}, {"aten::mm", "new"}, {"aten::add", ""}});
  EXPECT_EQ(total(retimed(step, more, times).graph), 10'000 + 1200 + 300 + 600) << "1.2 times the 500 alone";
}

TEST(Retime, WhatWasNotFoundInTheRecordingCountsAsAssumed) {
  Step step;
  step.operation("aten::mm", "32", 1200);
  Step::capture(step.captured, "aten::bmm", "32");  // which the recording does not have
  Step::capture(step.captured, "aten::detach", "32");
  const TimeAlone times =
      alone({{"aten::mm32", 1000}, {"aten::bmm32", 800}, {"aten::bmm16", 300}, {"aten::detach32", 100}});
  const RetimedStep smaller = retimed(step, captured({{"aten::mm", "32"}, {"aten::bmm", "16"}}), times);
  EXPECT_EQ(total(smaller.graph), 1200) << "what it took is not taken away";
  EXPECT_DOUBLE_EQ(smaller.assumed_ns, 960);
  EXPECT_DOUBLE_EQ(smaller.assumed_error_ns, 600);
  const RetimedStep gone = retimed(step, captured({{"aten::mm", "32"}}), times);
  EXPECT_DOUBLE_EQ(gone.assumed_error_ns, 960);
}

TEST(Retime, WhatIsFreeTakesNoTime) {
  Step step;
  step.operation("aten::mm", "a", 1200);
  const RetimedStep changed = retimed(step, captured({{"aten::mm", "a"}, {"aten::detach", "a"}}),
                                      alone({{"aten::mma", 1000}, {"aten::detacha", 500}}));
  EXPECT_EQ(total(changed.graph), 1200);
}

TEST(Retime, WhatGoesTakesItsPythonAlong) {
  Step step;
  step.operation("aten::mm", "a", 1000, 10).operation("aten::add", "a", 300, 40).operation("aten::mm", "a", 1000, 10);
  const RetimedStep changed = retimed(step, captured({{"aten::mm", "a"}, {"aten::mm", "a"}}), alone({}));
  EXPECT_EQ(total(changed.graph), 2020);
}

TEST(Retime, TheHostsTimeIsThatOfTheChangedStep) {
  Step step;
  for (int i = 0; i < 3; ++i) {
    step.operation("aten::mm", "a", 1000, 10);
  }
  step.operation("aten::mul_", "a", 300, 40, StepPart::kOptimizer)
      .operation("aten::mul_", "a", 300, 20, StepPart::kOptimizer)
      .operation("aten::add_", "a", 300, 60, StepPart::kOptimizer);
  // What is observed while operations are listed: of the listing itself, 100 or of products 200, and of Python.
  step.captured.host_ns = {210, 210, 210, 140, 120, 160};
  CapturedStep changed = captured({{"aten::mm", "a"}, {"aten::mm", "a"}, {"aten::mm", "a"}, {"aten::mm", "b"}});
  Step::capture(changed, "aten::_foreach_mul_", "a", StepPart::kOptimizer);
  Step::capture(changed, "aten::add_", "a", StepPart::kOptimizer);
  changed.host_ns = {210, 210, 210, 250, 500, 130};
  const TimeAlone times = alone({{"aten::mma", 1000},
                                 {"aten::mmb", 500},
                                 {"aten::mul_a", 300},
                                 {"aten::add_a", 300},
                                 {"aten::_foreach_mul_a", 400}});
  const RetimedStep foreach = retimed(step, changed, times);
  const double listing =
      150;  // of a name that the unchanged step does not have: the median of 200, three times, and 100
  const double python = 500 - listing;
  EXPECT_EQ(total(foreach.graph), 3 * 1010 + (50 + 500) + std::llround(python + 400) + (60 - 30 + 300));
  EXPECT_DOUBLE_EQ(foreach.host_ns, (40 + 20) + 50 + python + 30);

  for (double& ns : changed.host_ns) {
    ns *= 2;  // the machine was slower
  }
  EXPECT_EQ(total(retimed(step, changed, times).graph), total(foreach.graph));
}

TEST(Retime, TheHostMayDoMoreBeforeTheSameOperation) {
  Step step;
  for (int i = 0; i < 5; ++i) {
    step.operation("aten::mm", "a", 1000, 10'000);
  }
  step.captured.host_ns = {20'000, 20'000, 20'000, 20'000, 20'000};
  CapturedStep changed = step.captured;
  changed.host_ns = {20'000, 22'000, 20'000, 45'000,
                     20'000};  // the second is as it was, within what listings differ by
  const RetimedStep hooked = retimed(step, changed, alone({}));
  EXPECT_EQ(total(hooked.graph), 5 * 11'000 + 25'000);
  EXPECT_DOUBLE_EQ(hooked.host_ns, 25'000);
  EXPECT_DOUBLE_EQ(hooked.hooks_ns, 25'000);
}

/// A product and a sum that a device computes, and a view; the host waits at the end.
Step launched_step(std::int64_t launch_ns, std::int64_t product_ns) {
  Step step;
  step.launched("aten::mm", "[t:a:cuda]", launch_ns, product_ns)
      .operation("aten::view", "[t:a:cuda]", 5)
      .launched("aten::add", "[t:a:cuda]", launch_ns, 50)
      .wait();
  return step;
}

CapturedStep with_launched_relu() {
  return captured({{"aten::mm", "[t:a:cuda]"},
                   {"aten::view", "[t:b:cuda]"},
                   {"aten::relu", "[t:a:cuda]"},
                   {"aten::view", "[t:a:cuda]"},
                   {"aten::add", "[t:a:cuda]"}});
}

TEST(Retime, ADeviceComputesANewOperationThatAHostLaunches) {
  const TimeAlone times = alone({{"aten::mm[t:a:cuda]", 1000}, {"aten::relu[t:a:cuda]", 400}});
  // The device has work all the time: what the host takes to launch it is hidden.
  EXPECT_EQ(total(retimed(launched_step(100, 1000), with_launched_relu(), times).graph), 100 + 1000 + 400 + 50);
}

TEST(Retime, WhereTheHostIsTheSlowerOneANewOperationTakesItsLaunch) {
  const TimeAlone times =
      alone({{"aten::mm[t:a:cuda]", 20}, {"aten::relu[t:a:cuda]", 10}, {"aten::view[t:b:cuda]", 5}});
  const RetimedStep changed = retimed(launched_step(100, 20), with_launched_relu(), times);
  EXPECT_EQ(total(changed.graph), 3 * 100 + 2 * 5 + 50);
  EXPECT_DOUBLE_EQ(changed.host_ns, 100);
}

TEST(Retime, PageFaultsAreThoseOfTheChangedStep) {
  Step step;
  step.operation("aten::mm", "32", 1500).operation("aten::add", "a", 300);
  step.captured.page_fault_ns = {500, 0};  // of the product, 1000 computing
  CapturedStep changed = captured({{"aten::mm", "16"}, {"aten::mm", "new"}, {"aten::add", "a"}});
  changed.page_fault_ns = {200, 700, 50};
  const TimeAlone times = alone({{"aten::mm32", 500}, {"aten::mm16", 250}, {"aten::mmnew", 400}, {"aten::adda", 300}});
  const RetimedStep retimed_step = retimed(step, changed, times);
  EXPECT_EQ(total(retimed_step.graph), (500 + 200) + (2 * 400 + 700) + (300 + 50));
  EXPECT_DOUBLE_EQ(retimed_step.page_faults_ns, (200 - 500) + 700 + 50);
}

TEST(Retime, PageFaultsThatGoWithAnOperationAreCounted) {
  Step step;
  step.operation("aten::mm", "a", 1500).operation("aten::add", "a", 300);
  step.captured.page_fault_ns = {500, 0};
  CapturedStep changed = captured({{"aten::add", "a"}});
  changed.page_fault_ns = {0};
  const RetimedStep retimed_step = retimed(step, changed, alone({}));
  EXPECT_EQ(total(retimed_step.graph), 300);
  EXPECT_DOUBLE_EQ(retimed_step.changed_before_ns, 1000);
  EXPECT_DOUBLE_EQ(retimed_step.page_faults_ns, -500);
}

TEST(Retime, WherePageFaultsOfTheChangedStepAreNotKnownOperationsKeepTheirs) {
  Step step;
  step.operation("aten::mm", "32", 1500);
  step.captured.page_fault_ns = {500};
  const RetimedStep changed =
      retimed(step, captured({{"aten::mm", "16"}}), alone({{"aten::mm32", 1000}, {"aten::mm16", 500}}));
  EXPECT_EQ(total(changed.graph), 750);
  EXPECT_DOUBLE_EQ(changed.page_faults_ns, 0);
}

TEST(Retime, PageFaultsLeaveSomeTimeToAnOperation) {
  Step step;
  step.operation("aten::zeros", "32", 1000);
  step.captured.page_fault_ns = {3000};
  CapturedStep changed = captured({{"aten::zeros", "32"}});
  changed.page_fault_ns = {0};
  EXPECT_EQ(total(retimed(step, changed, alone({})).graph), 200);
}

TEST(Retime, WhereTheHostWasNotObservedNewOperationsHaveTheMean) {
  Step step;
  step.operation("aten::mm", "a", 1000, 10).operation("aten::add", "a", 300, 30);
  const CapturedStep more = captured({{"aten::mm", "a"}, {"aten::mm", "a"}, {"aten::add", "a"}});
  EXPECT_EQ(total(retimed(step, more, alone({{"aten::mma", 1000}})).graph), 1340 + 1020);
}

TEST(Retime, AnOperationWithoutATimeIsAssumedToStayAndCountsAsAssumed) {
  Step step;
  step.operation("aten::mm", "32", 1000);
  const RetimedStep changed = retimed(step, captured({{"aten::mm", "16"}}), alone({}));
  EXPECT_EQ(total(changed.graph), 1000);
  EXPECT_DOUBLE_EQ(changed.assumed_ns, 1000);
}

TEST(Retime, WhatCannotBeTimedGrowsAsItsDataDoes) {
  const std::string small = R"(["aten::rnn",["t:float32:4,8:8,1","t:float32:8,8:8,1"],{}])";
  const std::string large = R"(["aten::rnn",["t:float32:12,8:8,1","t:float32:8,8:8,1"],{}])";
  Step step;
  step.operation("aten::rnn", "", 1000);
  step.captured.keys.front() = small;
  CapturedStep changed = step.captured;
  changed.keys.front() = large;
  const RetimedStep grown = retimed(step, changed, alone({}));
  EXPECT_EQ(total(grown.graph), 3000);
  EXPECT_DOUBLE_EQ(grown.assumed_ns, 3000);
  EXPECT_DOUBLE_EQ(grown.assumed_error_ns, 2000) << "it may not have grown at all";
  EXPECT_DOUBLE_EQ(scale_of(small, large), 3);
  EXPECT_DOUBLE_EQ(scale_of(large, small), 1 / 3.0);
  EXPECT_DOUBLE_EQ(scale_of(small, "broken"), 1);
}

TEST(PredictOnGraph, ChangesOfTheGraphComeAfterThoseOfTheRunner) {
  Step step;
  step.operation("aten::mm", "32", 1'000'000).operation("aten::add", "32", 1'000'000);
  const TimeAlone times = alone({{"aten::mm32", 1000}, {"aten::mm16", 500}, {"aten::add32", 1000}});
  const Baseline baseline{.step_ms = 2, .batch_size = 4};
  const ChangeBasis basis = step.basis(baseline, times);
  const auto halved = predict_step(basis, of(captured({{"aten::mm", "16"}, {"aten::add", "32"}}), 8), times);
  ASSERT_TRUE(halved);
  EXPECT_DOUBLE_EQ(halved->predicted.step_ms, 1.5);
  const auto graph = graph_basis(step.graph, 2, {1e6, {}}, {});
  ASSERT_TRUE(graph);
  const auto half =
      parse_change(R"({"title": "t", "steps": [{"select": {"kind": "operation"}, "do": "scale", "factor": 0.5}]})");
  ASSERT_TRUE(half);
  const UserChanges user = {{"half", *half}};
  const auto both = predict_on_graph(after_runner(*graph, *halved, true), {"half"}, user);
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->step_ms, 0.75, 1e-9);
  EXPECT_NEAR(both->speed_up.value, 2 * 2 / 0.75, 1e-9) << "twice the samples";
  EXPECT_TRUE(both->by_rule);
  // What was uncertain before the change of the graph is uncertain after it.
  const auto alone_on_graph = predict_on_graph(*graph, {"half"}, user);
  ASSERT_TRUE(alone_on_graph);
  EXPECT_FALSE(after_runner(*graph, *halved, false).facts.gradients.has_value());
  const auto width = [](const analysis::SpeedUp& speed) { return (speed.high - speed.low) / speed.value; };
  EXPECT_GT(width(both->speed_up), width(alone_on_graph->speed_up));
}

TEST(Retime, TheSpreadIsHowFarOperationsOfOneNameAreApart) {
  Step step;
  step.operation("aten::mm", "a", 1000).operation("aten::mm", "b", 1100).operation("aten::mm", "c", 1210);
  const RetimedStep changed =
      retimed(step, step.captured, alone({{"aten::mma", 1000}, {"aten::mmb", 1000}, {"aten::mmc", 1000}}));
  EXPECT_THAT(changed.spread, DoubleNear(0.095, 0.001));
}

base::Result<analysis::PredictedChange> predicted_change(const Step& step, const Baseline& baseline,
                                                         const protocol::Captured& changed, const TimeAlone& alone) {
  const ChangeBasis basis = step.basis(baseline, alone);
  const auto predicted = predict_step(basis, changed, alone);
  return predicted ? base::Result<analysis::PredictedChange>(predicted->predicted) : predicted.error();
}

TEST(PredictChange, ComparesSamplesPerSecond) {
  Step step;
  step.operation("aten::mm", "32", 1'000'000);
  const auto predicted =
      predicted_change(step, {.step_ms = 2, .batch_size = 32}, of(captured({{"aten::mm", "64"}}), 64),
                       alone({{"aten::mm32", 1000}, {"aten::mm64", 1500}}));
  ASSERT_TRUE(predicted);
  EXPECT_DOUBLE_EQ(predicted->step_ms, 3);  // the graph says 1 ms, the clock 2
  EXPECT_DOUBLE_EQ(predicted->speed_up.value, 2 * 2.0 / 3);
  EXPECT_LT(predicted->speed_up.low, predicted->speed_up.value);
  EXPECT_GT(predicted->speed_up.high, predicted->speed_up.value);
  EXPECT_EQ(predicted->measured_share, 1);
  EXPECT_FALSE(predicted->peak_bytes.has_value());
}

TEST(PredictChange, HooksMayWaitForTheDevice) {
  Step step;
  for (int i = 0; i < 3; ++i) {
    step.launched("aten::mm", "[t:a:cuda]", 10'000, 50'000);
  }
  step.wait();
  step.captured.host_ns = {20'000, 20'000, 20'000};
  CapturedStep hooked = step.captured;
  hooked.host_ns[2] = 60'000;
  const Baseline baseline{.step_ms = 0.16, .batch_size = 1};
  const auto same = predict_step(step.basis(baseline, alone({})), of(step.captured, 1), alone({}));
  const auto changed = predict_step(step.basis(baseline, alone({})), of(hooked, 1), alone({}));
  ASSERT_TRUE(same && changed);
  // The device is the slower one, and what the hosts do is hidden behind it, unless they wait for it: 70 and 150.
  EXPECT_DOUBLE_EQ(changed->predicted.step_ms, 0.16);
  EXPECT_GT(same->predicted.speed_up.low, 0.95);
  EXPECT_LE(changed->predicted.speed_up.low, 160.0 / (70 + 150));
  EXPECT_GT(changed->predicted.speed_up.low, 0.9 * 160 / (70 + 150));
  EXPECT_GT(changed->predicted.speed_up.high, 1);
}

TEST(PredictChange, WhatIsNotMeasuredWidensTheInterval) {
  Step step;
  step.operation("aten::mm", "32", 1'000'000);
  const Baseline baseline{.step_ms = 1, .batch_size = 32};
  const auto width = [&](const TimeAlone& times) {
    const auto predicted = predicted_change(step, baseline, of(captured({{"aten::mm", "16"}}), 32), times);
    EXPECT_TRUE(predicted);
    return std::pair(predicted->speed_up.high - predicted->speed_up.low, predicted->measured_share);
  };
  const auto measured = width(alone({{"aten::mm32", 1000}, {"aten::mm16", 1000}}));
  const auto assumed = width(alone({}));
  EXPECT_GT(assumed.first, 2 * measured.first);
  EXPECT_EQ(assumed.second, 0);
}

TEST(PredictChange, WhatIsNotKnownOfTheStepIsNotKnownOfAChange) {
  Step step;
  step.operation("aten::mm", "32", 1'000'000).operation("aten::add", "32", 1'000'000);
  const auto speed_up = [&](double noise) {
    const auto changed = of(captured({{"aten::mm", "32"}}), 32);
    return predicted_change(step, {.step_ms = 2, .batch_size = 32, .noise = noise}, changed, alone({}))->speed_up;
  };
  EXPECT_DOUBLE_EQ(speed_up(0).value, 2);
  EXPECT_DOUBLE_EQ(speed_up(1).value, 2);
  EXPECT_DOUBLE_EQ(speed_up(1).low, speed_up(0).low / 2);
  EXPECT_DOUBLE_EQ(speed_up(1).high, speed_up(0).high * 2);
}

TEST(PredictChange, EachPartsPeakChangesAsItsCapturedPeakDoes) {
  Step step;
  step.operation("aten::mm", "a", 100).operation("aten::mm", "a", 100, 0, StepPart::kBackward);
  step.graph.tasks[2].phase = analysis::Phase::kBackward;
  step.graph.bytes_at_start = 1000;
  step.graph.memory = {{1, 0, 500}, {2, 0, 300}, {2, 1, -800}};  // forward 1500, backward 1800
  const Baseline baseline{
      .step_ms = 1, .peak_bytes = 1800, .captured_peak_bytes = {{1400, 1500, 1000}}, .batch_size = 1};
  const auto peak = [&](std::array<std::uint64_t, protocol::kStepParts> changed) {
    const auto predicted = predicted_change(step, baseline, of(step.captured, 1, changed), alone({}));
    EXPECT_TRUE(predicted);
    return predicted->peak_bytes.value_or(0);
  };
  EXPECT_EQ(peak({1400, 1500, 1000}), 1800U);
  EXPECT_EQ(peak({1400, 1000, 1000}), 1500U);  // now the forward's is the largest
  EXPECT_EQ(peak({1900, 1500, 1000}), 2000U);
}

TEST(PredictChange, WhatTheOptimizerFreesBeforeBackwardIsNotItsPeak) {
  Step step;
  step.operation("aten::mm", "a", 100).operation("aten::detach", "a", 100, 0, StepPart::kOptimizer);
  step.operation("aten::mm", "a", 100, 0, StepPart::kBackward)
      .operation("aten::add", "a", 100, 0, StepPart::kOptimizer);
  step.graph.tasks[2].phase = analysis::Phase::kOptimizer;
  step.graph.tasks[3].phase = analysis::Phase::kBackward;
  step.graph.tasks[4].phase = analysis::Phase::kOptimizer;
  step.graph.bytes_at_start = 1000;
  step.graph.memory = {{1, 0, 500}, {2, 0, -100}, {3, 0, 200}, {3, 1, -700}, {4, 0, 50}};  // 1500, 1400, 1600, 900, 950
  const Baseline baseline{
      .step_ms = 1, .peak_bytes = 1600, .captured_peak_bytes = {{1500, 1600, 950}}, .batch_size = 1};
  const auto predicted = predicted_change(step, baseline, of(step.captured, 1, {1000, 1100, 950}), alone({}));
  ASSERT_TRUE(predicted);
  EXPECT_EQ(predicted->peak_bytes, 1100U);
}

TEST(PredictChange, AddsWhatOperationsAllocateForThemselves) {
  Step step;
  step.operation("aten::convolution", "a", 100).operation("aten::convolution", "a", 100, 0, StepPart::kBackward);
  protocol::Captured one = of(step.captured, 1, {1400, 1500, 1000});
  one.alive = {{StepPart::kForward, 0, 1000}, {StepPart::kBackward, 0, 900}};
  EXPECT_THAT(peaks_of(one, {}), ElementsAre(1400, 1500, 1000));
  const auto known = [](std::uint64_t bytes) { return [bytes](const std::string&) { return std::optional(bytes); }; };
  EXPECT_THAT(peaks_of(one, known(450)), ElementsAre(1450, 1500, 1000)) << "the results are in it already";
  EXPECT_THAT(peaks_of(one, known(700)), ElementsAre(1700, 1600, 1000));
  EXPECT_THAT(peaks_of(one, [](const std::string&) { return std::nullopt; }), ElementsAre(1400, 1500, 1000));
}

TEST(PredictChange, ACaptureWithoutOperationsCannotBePredicted) {
  Step step;
  step.operation("aten::mm", "a", 100);
  EXPECT_FALSE(predicted_change(step, {.step_ms = 1, .batch_size = 1}, {}, alone({})));
}

TEST(DescribeTrial, IsTheMedianOfThePairs) {
  protocol::Tried tried;
  tried.unchanged_ns = {200, 400, 600, 220, 200, 210, 190};
  tried.changed_ns = {100, 200, 300, 100, 100, 100, 100};  // whatever slows both does not count
  tried.unchanged_batch_size = 4;
  tried.changed_batch_size = 2;
  const analysis::TriedChange described = describe_trial(tried);
  EXPECT_DOUBLE_EQ(described.speed_up.value, 1);  // twice as fast, with half of the samples
  EXPECT_DOUBLE_EQ(described.speed_up.low, 0.95);
  EXPECT_DOUBLE_EQ(described.speed_up.high, 1.1);
}

}  // namespace
}  // namespace ridgeline::whatif
