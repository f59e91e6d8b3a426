#include "step/changes/step_schedule.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "analysis/build_profile.h"
#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::step {
namespace {

using analysis::testing::kEnvironment;
using analysis::testing::kMs;
using analysis::testing::kNone;
using analysis::testing::kProject;
using analysis::testing::RecordingBuilder;
using ::testing::HasSubstr;

/// A host that launches one kernel, works on, and waits for it.
Graph launch_and_wait(std::int64_t host_ns, std::int64_t kernel_ns) {
  Graph graph;
  graph.names = {""};
  graph.lines = {{}, {"host.py", 1}, {"kernel.py", 2}};
  graph.modules = {"", "net", "net.conv"};
  graph.resources = {{"thread 0", Resource::Type::kHost}, {"stream", Resource::Type::kDevice}};
  graph.tasks = {Task{.duration_ns = 1'000'000, .next = 1}, Task{.duration_ns = host_ns, .next = 2, .line = 1},
                 Task{.kind = Kind::kWait},
                 Task{.duration_ns = kernel_ns, .line = 2, .module = 2, .resource = 1, .kind = Kind::kKernel}};
  graph.dependencies = {{0, 3}, {3, 2}};
  graph.end = 2;
  return graph;
}

const analysis::CriticalCost& line(const analysis::StepSchedule& schedule, const std::string& file) {
  for (const auto& one : schedule.lines) {
    if (one.location.file == file) {
      return one.cost;
    }
  }
  ADD_FAILURE() << "no line of " << file;
  static const analysis::CriticalCost kNothing;
  return kNothing;
}

TEST(StepSchedule, AFasterKernelPaysUntilTheHostIsSlower) {
  const auto schedule = describe_schedule(launch_and_wait(6'000'000, 10'000'000));
  ASSERT_TRUE(schedule.has_value());
  EXPECT_DOUBLE_EQ(schedule->replayed_ms, 11);
  EXPECT_DOUBLE_EQ(schedule->host_only_ms, 1);
  EXPECT_DOUBLE_EQ(schedule->both_ms, 6);
  EXPECT_DOUBLE_EQ(schedule->device_only_ms, 4);
  const analysis::CriticalCost& kernel = line(*schedule, "kernel.py");
  EXPECT_DOUBLE_EQ(kernel.critical_ms, 10);
  EXPECT_DOUBLE_EQ(kernel.slack_ms, 0);
  EXPECT_DOUBLE_EQ(kernel.saved_twice_as_fast_ms, 4) << "then the host takes longest";
  EXPECT_DOUBLE_EQ(kernel.saved_without_ms, 4);
  const analysis::CriticalCost& host = line(*schedule, "host.py");
  EXPECT_DOUBLE_EQ(host.critical_ms, 0);
  EXPECT_DOUBLE_EQ(host.slack_ms, 4);
  EXPECT_DOUBLE_EQ(host.saved_without_ms, 0);
}

TEST(StepSchedule, AModuleHasWhatIsInsideIt) {
  const auto schedule = describe_schedule(launch_and_wait(6'000'000, 10'000'000));
  ASSERT_EQ(schedule->modules.size(), 2);
  for (const auto& module : schedule->modules) {
    EXPECT_DOUBLE_EQ(module.cost.critical_ms, 10) << module.name;
  }
}

TEST(StepSchedule, AModuleThatOnlyCallsOthersIsThereToo) {
  Graph graph = launch_and_wait(6'000'000, 10'000'000);
  graph.modules = {"", "net.conv", "Loss"};
  graph.tasks[3].module = 1;
  const auto schedule = describe_schedule(graph);
  ASSERT_EQ(schedule->modules.size(), 2);
  EXPECT_EQ(schedule->modules[0].name, "net");
  EXPECT_DOUBLE_EQ(schedule->modules[0].cost.critical_ms, 10);
}

TEST(StepSchedule, OnOneThreadALineSavesItsOwnTime) {
  Graph graph = launch_and_wait(6'000'000, 0);
  graph.tasks.pop_back();
  graph.resources.pop_back();
  graph.dependencies.clear();
  const auto schedule = describe_schedule(graph);
  EXPECT_DOUBLE_EQ(line(*schedule, "host.py").saved_twice_as_fast_ms, 3);
  EXPECT_DOUBLE_EQ(line(*schedule, "host.py").saved_without_ms, 6);
  EXPECT_DOUBLE_EQ(schedule->host_only_ms, schedule->replayed_ms);
}

analysis::RunInput run_of(const RecordingBuilder& builder, double bare_ns) {
  analysis::RunInput input;
  input.scope = {std::string(kProject), {std::string(kEnvironment)}};
  input.batch_size = 1;
  input.runs.push_back({1, 0, {bare_ns, bare_ns, bare_ns}, builder.build()});
  return input;
}

TEST(StepSchedule, AProfileHasTheScheduleOfItsStep) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.at("model.py", 5), 0, 10 * kMs});
  const analysis::RunInput input = run_of(builder, 8e6);
  analysis::Profile profile = analysis::build_profile(input);
  add_schedule(profile, input);
  ASSERT_TRUE(profile.schedule.has_value());
  EXPECT_DOUBLE_EQ(profile.schedule->replayed_ms, 8);
  EXPECT_DOUBLE_EQ(profile.schedule->lines.front().cost.saved_twice_as_fast_ms, 4);
}

TEST(StepSchedule, AReplayThatMissesTheIterationIsAWarning) {
  // The device needs twice as long as the bare iteration took: recording is no such cost.
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto stack = builder.at("model.py", 5);
  const auto launch = builder.call({recording::Call::kLaunch, 0, 10'000, kNone, stack});
  builder.call({recording::Call::kSynchronise, kMs, 10 * kMs, kNone, stack});
  builder.activity({"kernel", 10'000, 10 * kMs, launch});
  const analysis::RunInput input = run_of(builder, 5e6);
  analysis::Profile profile = analysis::build_profile(input);
  add_schedule(profile, input);
  EXPECT_FALSE(profile.schedule.has_value());
  ASSERT_FALSE(profile.warnings.empty());
  EXPECT_THAT(profile.warnings.back(), HasSubstr("critical path is not known"));
}

}  // namespace
}  // namespace ridgeline::step
