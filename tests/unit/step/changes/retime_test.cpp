// The graph of a changed step, on graphs that are made by hand.
#include "step/changes/retime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "listed_step.h"
#include "step/changes/operation_scale.h"

namespace ridgeline::step {
namespace {

using protocol::CapturedStep;
using protocol::StepPart;
using testing::captured;
using ::testing::DoubleNear;
using testing::standalone_times;
using testing::Step;
using testing::total;

RetimedStep retimed(const Step& step, const CapturedStep& changed, StandaloneTimes times) {
  return retime(step.unchanged(times), changed, times);
}

TEST(Retime, TheSameStepStaysAsItIs) {
  Step step;
  step.operation("aten::mm", "a", 1000, 50).operation("aten::add", "a", 300, 20);
  const RetimedStep same = retimed(step, step.captured, standalone_times({}));
  EXPECT_EQ(total(same.graph), 1370);
  EXPECT_EQ(same.changed_after_ns, 0);
}

TEST(Retime, ATimeInTheStepChangesAsTheTimeAloneDoes) {
  Step step;
  step.operation("aten::mm", "32", 1000).operation("aten::add", "32", 300);
  const CapturedStep half = captured({{"aten::mm", "16"}, {"aten::add", "32"}});
  const RetimedStep changed =
      retimed(step, half, standalone_times({{"aten::mm32", 800}, {"aten::mm16", 200}, {"aten::add32", 300}}));
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
  const RetimedStep changed = retimed(step, more, standalone_times({{"aten::mma", 1000}, {"aten::mmb", 500}}));
  EXPECT_EQ(total(changed.graph), 1500 + 600);
}

TEST(Retime, ANewOperationWithoutATimeTakesWhatItsNameTakesAndCountsAsAssumed) {
  Step step;
  step.operation("aten::mm", "a", 1200).operation("aten::add", "a", 300);
  const CapturedStep more = captured({{"aten::mm", "a"}, {"aten::mm", "b"}, {"aten::relu", "a"}, {"aten::add", "a"}});
  const RetimedStep changed = retimed(step, more, standalone_times({{"aten::mma", 1000}}));
  EXPECT_EQ(total(changed.graph), 1500 + 1200) << "of relu nothing is known";
  EXPECT_DOUBLE_EQ(changed.assumed_ns, 1200);
  EXPECT_DOUBLE_EQ(changed.assumed_error_ns, 1200);
}

TEST(Retime, ADisturbedTimeCountsAsAssumed) {
  Step step;
  step.operation("aten::mm", "32", 1000);
  const RetimedStep changed = retimed(step, captured({{"aten::mm", "16"}}),
                                      standalone_times({{"aten::mm32", 1000}, {"aten::mm16", 5000}}, true));
  EXPECT_EQ(total(changed.graph), 5000);
  EXPECT_DOUBLE_EQ(changed.assumed_ns, 5000);
  EXPECT_DOUBLE_EQ(changed.assumed_error_ns, 4000) << "it may not have grown at all";
}

TEST(Retime, ADisturbedTimeIsNotWhatOthersOfItsNameAreScaledBy) {
  Step step;
  step.operation("aten::mm", "long", 10'000).operation("aten::mm", "short", 1200).operation("aten::add", "", 300);
  const auto times = [](const std::string& key) -> std::optional<StandaloneTime> {
    if (key == "aten::mmlong") {
      return StandaloneTime{100'000, true};
    }
    return StandaloneTime{key == "aten::mmshort" ? 1000.0 : 500.0, false};
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
  const auto times =
      standalone_times({{"aten::mm32", 1000}, {"aten::bmm32", 800}, {"aten::bmm16", 300}, {"aten::detach32", 100}});
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
                                      standalone_times({{"aten::mma", 1000}, {"aten::detacha", 500}}));
  EXPECT_EQ(total(changed.graph), 1200);
}

TEST(Retime, WhatGoesTakesItsPythonAlong) {
  Step step;
  step.operation("aten::mm", "a", 1000, 10).operation("aten::add", "a", 300, 40).operation("aten::mm", "a", 1000, 10);
  const RetimedStep changed = retimed(step, captured({{"aten::mm", "a"}, {"aten::mm", "a"}}), standalone_times({}));
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
  const auto times = standalone_times({{"aten::mma", 1000},
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
  const RetimedStep hooked = retimed(step, changed, standalone_times({}));
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
  const auto times = standalone_times({{"aten::mm[t:a:cuda]", 1000}, {"aten::relu[t:a:cuda]", 400}});
  // The device has work all the time: what the host takes to launch it is hidden.
  EXPECT_EQ(total(retimed(launched_step(100, 1000), with_launched_relu(), times).graph), 100 + 1000 + 400 + 50);
}

TEST(Retime, WhereTheHostIsTheSlowerOneANewOperationTakesItsLaunch) {
  const auto times =
      standalone_times({{"aten::mm[t:a:cuda]", 20}, {"aten::relu[t:a:cuda]", 10}, {"aten::view[t:b:cuda]", 5}});
  const RetimedStep changed = retimed(launched_step(100, 20), with_launched_relu(), times);
  EXPECT_EQ(total(changed.graph), 3 * 100 + 2 * 5 + 50);
  EXPECT_DOUBLE_EQ(changed.host_ns, 100);
}

TEST(Retime, TheHostWaitsForACopyThatMayBlock) {
  const std::string awaited = R"(["aten::copy_.default",["t:a:pinned","t:a:cuda"],{}])";
  const std::string unblocked = R"(["aten::copy_.default",["t:a:pinned","t:a:cuda",true],{}])";
  // Behind the copy a view, and a sum that the host launches: where it waited, after the copy.
  for (const auto& [key, ns] :
       {std::pair(awaited, 100 + 1000 + 400 + 5 + 100 + 50), {unblocked, 100 + 1000 + 400 + 50}}) {
    CapturedStep changed;
    changed.modules = {""};
    Step::capture(changed, "aten::mm", "[t:a:cuda]");
    changed.keys.push_back(key);
    changed.names.emplace_back("aten::copy_");
    changed.operations.push_back({1, 1, 0, StepPart::kForward});
    Step::capture(changed, "aten::view", "[t:a:cuda]");
    Step::capture(changed, "aten::add", "[t:a:cuda]");
    const auto times = standalone_times({{"aten::mm[t:a:cuda]", 1000}, {"aten::add[t:a:cuda]", 50}, {key, 400}});
    EXPECT_EQ(total(retimed(launched_step(100, 1000), changed, times).graph), ns) << key;
  }
}

TEST(Retime, PageFaultsAreThoseOfTheChangedStep) {
  Step step;
  step.operation("aten::mm", "32", 1500).operation("aten::add", "a", 300);
  step.captured.page_fault_ns = {500, 0};  // of the product, 1000 computing
  CapturedStep changed = captured({{"aten::mm", "16"}, {"aten::mm", "new"}, {"aten::add", "a"}});
  changed.page_fault_ns = {200, 700, 50};
  const auto times =
      standalone_times({{"aten::mm32", 500}, {"aten::mm16", 250}, {"aten::mmnew", 400}, {"aten::adda", 300}});
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
  const RetimedStep retimed_step = retimed(step, changed, standalone_times({}));
  EXPECT_EQ(total(retimed_step.graph), 300);
  EXPECT_DOUBLE_EQ(retimed_step.changed_before_ns, 1000);
  EXPECT_DOUBLE_EQ(retimed_step.page_faults_ns, -500);
}

TEST(Retime, WherePageFaultsOfTheChangedStepAreNotKnownOperationsKeepTheirs) {
  Step step;
  step.operation("aten::mm", "32", 1500);
  step.captured.page_fault_ns = {500};
  const RetimedStep changed =
      retimed(step, captured({{"aten::mm", "16"}}), standalone_times({{"aten::mm32", 1000}, {"aten::mm16", 500}}));
  EXPECT_EQ(total(changed.graph), 750);
  EXPECT_DOUBLE_EQ(changed.page_faults_ns, 0);
}

TEST(Retime, PageFaultsLeaveSomeTimeToAnOperation) {
  Step step;
  step.operation("aten::zeros", "32", 1000);
  step.captured.page_fault_ns = {3000};
  CapturedStep changed = captured({{"aten::zeros", "32"}});
  changed.page_fault_ns = {0};
  EXPECT_EQ(total(retimed(step, changed, standalone_times({})).graph), 200);
}

TEST(Retime, WhereTheHostWasNotObservedNewOperationsHaveTheMean) {
  Step step;
  step.operation("aten::mm", "a", 1000, 10).operation("aten::add", "a", 300, 30);
  const CapturedStep more = captured({{"aten::mm", "a"}, {"aten::mm", "a"}, {"aten::add", "a"}});
  EXPECT_EQ(total(retimed(step, more, standalone_times({{"aten::mma", 1000}})).graph), 1340 + 1020);
}

TEST(Retime, AnOperationWithoutATimeIsAssumedToStayAndCountsAsAssumed) {
  Step step;
  step.operation("aten::mm", "32", 1000);
  const RetimedStep changed = retimed(step, captured({{"aten::mm", "16"}}), standalone_times({}));
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
  const RetimedStep grown = retimed(step, changed, standalone_times({}));
  EXPECT_EQ(total(grown.graph), 3000);
  EXPECT_DOUBLE_EQ(grown.assumed_ns, 3000);
  EXPECT_DOUBLE_EQ(grown.assumed_error_ns, 2000) << "it may not have grown at all";
  EXPECT_DOUBLE_EQ(size_ratio(small, large), 3);
  EXPECT_DOUBLE_EQ(size_ratio(large, small), 1 / 3.0);
  EXPECT_DOUBLE_EQ(size_ratio(small, "broken"), 1);
}

TEST(Retime, TheSpreadIsHowFarOperationsOfOneNameAreApart) {
  Step step;
  step.operation("aten::mm", "a", 1000).operation("aten::mm", "b", 1100).operation("aten::mm", "c", 1210);
  const RetimedStep changed =
      retimed(step, step.captured, standalone_times({{"aten::mma", 1000}, {"aten::mmb", 1000}, {"aten::mmc", 1000}}));
  EXPECT_THAT(changed.spread, DoubleNear(0.095, 0.001));
}

}  // namespace
}  // namespace ridgeline::step
