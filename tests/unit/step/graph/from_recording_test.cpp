#include "step/graph/from_recording.h"

#include <gmock/gmock.h>

#include <array>
#include <ctime>
#include <map>
#include <string>
#include <utility>

#include "step/graph/changes.h"
#include "step/simulate/schedule_analysis.h"
#include "step/simulate/simulate.h"
#include "tests/unit/analysis/analysed.h"
#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::step {
namespace {

using analysis::testing::Analysed;
using analysis::testing::kEngine;
using analysis::testing::kEnvironment;
using analysis::testing::kMs;
using analysis::testing::kNone;
using analysis::testing::kProject;
using analysis::testing::RecordingBuilder;
using recording::Activity;
using recording::Call;
using recording::Scope;

const analysis::SourceScope kScope{std::string(kProject), {std::string(kEnvironment)}};

Graph graph_of(const RecordingBuilder& builder, double bare_ns = 0) {
  return step::graph_of(builder.build(), kScope, bare_ns);
}

std::int64_t replayed_ns(const Graph& graph) { return simulate(graph)->total_ns; }

/// The only task with that name.
TaskId task_named(const Graph& graph, const std::string& name) {
  const Selection found = select_name(graph, name);
  EXPECT_EQ(found.size(), 1) << name;
  return found.empty() ? 0 : found.front();
}

std::int64_t start_of(const Graph& graph, const std::string& name) {
  return simulate(graph)->start[task_named(graph, name)];
}

TEST(GraphOfRecording, ReplaysOneThread) {
  RecordingBuilder builder;
  builder.iteration(kMs, 11 * kMs);
  const auto linear = builder.op({"aten::linear", builder.at("model.py", 5), 2 * kMs, 6 * kMs});
  builder.op({"aten::addmm", builder.at("model.py", 5), 3 * kMs, 5 * kMs, linear});
  builder.op({"aten::relu", builder.at("model.py", 6), 7 * kMs, 9 * kMs});
  const Graph graph = graph_of(builder);
  EXPECT_EQ(replayed_ns(graph), 10 * kMs);
  const auto by_line = host_time_by_line(graph, *simulate(graph), 0);
  std::map<std::uint32_t, std::int64_t> found;
  for (std::size_t i = 1; i < graph.lines.size(); ++i) {
    found[graph.lines[i].line] = by_line[i];
  }
  EXPECT_EQ(found[5], 5 * kMs) << "with the gap before it";
  EXPECT_EQ(found[6], 3 * kMs);
  EXPECT_EQ(by_line[0], 2 * kMs) << "after the last operation";
}

/// In processor time, with room for a slow build: to look at all that are open for each took half a minute.
TEST(GraphOfRecording, TakesLinearTimeForOperationsThatAreNestedDeeply) {
  constexpr std::uint64_t kDepth = 200'000;
  RecordingBuilder builder;
  builder.iteration(0, 2 * kDepth + 1);
  std::uint32_t outer = kNone;
  for (std::uint64_t i = 0; i < kDepth; ++i) {
    outer = builder.op({"aten::a", 0, i, 2 * kDepth - i, outer});
  }
  const recording::Recording recording = builder.build();
  const std::clock_t began = std::clock();
  EXPECT_EQ(step::graph_of(recording, kScope, 0).operations.size(), kDepth + 1);
  EXPECT_LT(std::clock() - began, 10 * CLOCKS_PER_SEC);
}

TEST(GraphOfRecording, IsInProportionToTheBareIteration) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  builder.op({"aten::a", builder.at("model.py", 5), 0, 10 * kMs});
  EXPECT_EQ(replayed_ns(graph_of(builder, 8e6)), 8 * kMs);
}

TEST(GraphOfRecording, SumsToTheMeansOfTheProfileByLine) {
  RecordingBuilder builder;
  for (const std::uint64_t i : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    const std::uint64_t start = 100 * i * kMs;
    builder.iteration(start, start + 20 * kMs);
    builder.op({"aten::a", builder.at("model.py", 5), start, start + (7 + i) * kMs});
    builder.op({"aten::b", builder.at("model.py", 6), start + (7 + i) * kMs, start + 20 * kMs});
  }
  const Analysed analysed(builder);
  const double bare_ns = 40e6;
  const Graph graph = graph_of(builder, bare_ns);
  EXPECT_NEAR(static_cast<double>(replayed_ns(graph)), bare_ns, 10);
  const auto by_line = host_time_by_line(graph, *simulate(graph), 0);
  const double scale = bare_ns / analysed.timeline.total_ns;
  for (std::size_t i = 1; i < graph.lines.size(); ++i) {
    const std::string place = graph.lines[i].file + ":" + std::to_string(graph.lines[i].line);
    EXPECT_NEAR(static_cast<double>(by_line[i]) / 1e6, analysed.line(place)->self_ms * scale, 1e-3) << place;
  }
}

TEST(GraphOfRecording, OperationsOfOneLineTakeTheirOwnMeans) {
  RecordingBuilder builder;
  for (const std::uint64_t i : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    const std::uint64_t start = 100 * i * kMs;
    const std::uint64_t end = start + 20 * kMs + i * 1000;  // the profile uses those of 3, 4 and 5; 4 is the median
    const std::uint64_t middle = start + (i == 4 ? 12 : i == 5 ? 9 : 6) * kMs;
    builder.iteration(start, end);
    builder.op({"aten::a", builder.at("model.py", 5), start, middle});
    builder.op({"aten::b", builder.at("model.py", 5), middle, end});
  }
  const Graph graph = graph_of(builder, 20.004e6);
  EXPECT_NEAR(static_cast<double>(graph.tasks[task_named(graph, "aten::a")].duration_ns), 9e6, 10);
  EXPECT_NEAR(static_cast<double>(graph.tasks[task_named(graph, "aten::b")].duration_ns), 11.004e6, 10);
}

TEST(GraphOfRecording, CountsOverlapsWithinAStreamOnce) {
  RecordingBuilder builder;
  builder.iteration(0, 20 * kMs);
  const auto stack = builder.at("model.py", 5);
  std::uint64_t at = kMs;
  for (const char* name : {"first", "second", "third"}) {
    const auto launch = builder.call({Call::kLaunch, at / 10, at / 10 + 1000, kNone, stack});
    builder.activity({name, at, at + 3 * kMs, launch});
    at += 2 * kMs;
  }
  builder.call({Call::kSynchronise, 2 * kMs, 8 * kMs, kNone, stack});
  const Graph graph = graph_of(builder);
  EXPECT_EQ(replayed_ns(graph), 20 * kMs);
  EXPECT_EQ(graph.tasks[task_named(graph, "first")].duration_ns, 3 * kMs);
  EXPECT_EQ(graph.tasks[task_named(graph, "second")].duration_ns, 2 * kMs);
  EXPECT_EQ(start_of(graph, "third"), 6 * kMs);
}

TEST(GraphOfRecording, KernelsWaitForTheirLaunchAndTheirStream) {
  RecordingBuilder builder;
  builder.iteration(0, 20 * kMs);
  const auto stack = builder.at("model.py", 5);
  const auto first = builder.call({Call::kLaunch, kMs, 2 * kMs, kNone, stack});
  const auto second = builder.call({Call::kLaunch, 3 * kMs, 4 * kMs, kNone, stack});
  const auto wait = builder.call({Call::kSynchronise, 5 * kMs, 16 * kMs, kNone, stack});
  (void)wait;
  builder.activity({"first", 2 * kMs + 3'000, 9 * kMs, first});
  builder.activity({"second", 9 * kMs + 1'000, 15 * kMs, second});
  const Graph graph = graph_of(builder);
  EXPECT_EQ(replayed_ns(graph), 20 * kMs);
  EXPECT_EQ(start_of(graph, "first"), 2 * kMs + 3'000);
  EXPECT_EQ(start_of(graph, "second"), 9 * kMs + 1'000);
  // A first kernel that takes no time lets the second begin when it was launched, and the host is done earlier.
  const Graph faster = with_duration(graph, {task_named(graph, "first")}, 0);
  EXPECT_EQ(start_of(faster, "second"), 4 * kMs);
  EXPECT_EQ(replayed_ns(faster), 20 * kMs - (5 * kMs + 1'000));
  // Without any device time the host is bound by itself: what it waited is gone.
  const Graph host = scaled(graph, select_kind(graph, Kind::kKernel), 0);
  EXPECT_EQ(replayed_ns(host), 20 * kMs - 10 * kMs);
}

TEST(GraphOfRecording, ABlockingCopyHoldsTheHostUp) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto launch = builder.call({Call::kLaunch, 0, 10'000});
  const auto copy = builder.call({Call::kCopy, kMs, 6 * kMs});
  builder.activity({"kernel", 20'000, 5 * kMs, launch});
  builder.activity({"copy", 5 * kMs + 1'000, 5 * kMs + 11'000, copy, Activity::kDeviceToHost});
  const Graph graph = graph_of(builder);
  EXPECT_EQ(replayed_ns(graph), 10 * kMs);
  const Graph faster = scaled(graph, {task_named(graph, "kernel")}, 0);
  EXPECT_NEAR(static_cast<double>(replayed_ns(faster)), static_cast<double>(6 * kMs), 50'000);
}

TEST(GraphOfRecording, BackwardOnAThreadOfItsOwnIsHandedOver) {
  RecordingBuilder builder;
  builder.thread(9);
  builder.iteration(0, 10 * kMs);
  const auto call = builder.stack({{"train.py", "step", 7}, kEngine});
  builder.op({"aten::a", builder.at("model.py", 5), 0, 2 * kMs, kNone, Scope::kFunction, 1});
  builder.op({"aten::b", builder.at("train.py", 9), 8 * kMs, 10 * kMs});
  builder.op({"ABackward0", call, 3 * kMs, 5 * kMs, kNone, Scope::kBackward, 1, 1, 1});
  builder.op({"BBackward0", call, 5 * kMs + 1'000, 7 * kMs, kNone, Scope::kBackward, 2, 1, 1});
  const Graph graph = graph_of(builder);
  EXPECT_EQ(replayed_ns(graph), 10 * kMs);
  EXPECT_EQ(replayed_ns(scaled(graph, select_phase(graph, analysis::Phase::kBackward), 0.5)), 10 * kMs - 2 * kMs)
      << "thread 0 waits for backward";
}

TEST(GraphOfRecording, AThreadOfTheBackgroundWaitsForTheDevice) {
  RecordingBuilder builder;
  builder.thread(9);
  builder.iteration(0, 20 * kMs);
  const auto launch = builder.call({Call::kLaunch, 0, 10'000});
  builder.call({Call::kSynchronise, 17 * kMs, 17 * kMs + 100'000});
  const auto first = builder.call({Call::kCopy, 10'000, 20'000, kNone, 0, 1});
  const auto copy = builder.call({Call::kCopy, 15 * kMs + 1'000, 15 * kMs + 50'000, kNone, 0, 1});
  builder.activity({"old", 12'000, 18'000, first, Activity::kHostToDevice, 0, 9});
  builder.activity({"kernel", 20'000, 15 * kMs, launch});
  builder.activity({"next", 15 * kMs + 5'000, 15 * kMs + 45'000, copy, Activity::kHostToDevice, 0, 9});
  const Graph graph = graph_of(builder);
  EXPECT_EQ(start_of(graph, "next"), 15 * kMs + 5'000);
  const Graph faster = with_duration(graph, {task_named(graph, "kernel")}, 0);
  EXPECT_LT(start_of(faster, "next"), kMs) << "the gap before the copy is no work";
}

/// Iterations of 10, 12 and 14 ms, in which attention computes on two threads for 6 ms: both have operations.
RecordingBuilder with_a_second_thread(std::uint64_t second_ends, bool called_by_python = false) {
  RecordingBuilder builder;
  builder.thread(9);
  const std::array<std::uint64_t, 3> starts{100 * kMs, 200 * kMs, 300 * kMs};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::uint64_t end = starts[i] + (10 + 2 * i) * kMs;
    builder.iteration(starts[i], end);
    builder.op({"aten::attention", builder.at("model.py", 5), starts[i], starts[i] + 6 * kMs});
    builder.op({"aten::sum", builder.at("model.py", 6), starts[i] + 6 * kMs, end});
  }
  const std::uint32_t stack = called_by_python ? builder.at("loader.py", 3) : 0;
  for (const std::uint64_t start : starts) {
    builder.op(
        {.name = "aten::empty", .stack = stack, .start = start + 2 * kMs, .end = start + second_ends, .thread = 1});
  }
  return builder;
}

TEST(GraphOfRecording, WhatOperationsRunInParallelIsPartOfThem) {
  const Graph graph = graph_of(with_a_second_thread(5 * kMs), 24e6);
  EXPECT_EQ(graph.resources.size(), 1);
  EXPECT_EQ(replayed_ns(graph), 24'000'000);
  EXPECT_NEAR(static_cast<double>(graph.tasks[task_named(graph, "aten::attention")].duration_ns), 12e6, 10);
}

TEST(GraphOfRecording, AThreadThatPythonUsesOrThatOutlivesTheOperationIsItsOwn) {
  EXPECT_EQ(graph_of(with_a_second_thread(5 * kMs, true)).resources.size(), 2);
  EXPECT_EQ(graph_of(with_a_second_thread(7 * kMs)).resources.size(), 2);
}

TEST(GraphOfRecording, WithAnotherThreadTheChosenIterationReplaysTheBareOne) {
  RecordingBuilder skewed = with_a_second_thread(7 * kMs);
  skewed.columns.iteration_end.back() += 3 * kMs;
  EXPECT_NEAR(static_cast<double>(replayed_ns(graph_of(skewed, 20e6))), 20e6, 10);
}

TEST(GraphOfRecording, HasThePeakOfTheRecordingToTheByte) {
  RecordingBuilder builder;
  builder.allocate({1, 0x10, 1000});  // alive before
  builder.iteration(kMs, 9 * kMs);
  const auto stack = builder.at("model.py", 5);
  builder.op({"aten::a", stack, kMs, 5 * kMs});
  builder.op({"aten::b", stack, 5 * kMs, 8 * kMs});
  builder.allocate({2 * kMs, 0x20, 300}).allocate({3 * kMs, 0x30, 50}).release(4 * kMs, 0x20);
  builder.allocate({6 * kMs, 0x40, 280}).release(7 * kMs, 0x10);
  const Graph graph = graph_of(builder);
  const auto peak = memory_peak(graph, *simulate(graph));
  EXPECT_EQ(peak.bytes, 1350);
  EXPECT_EQ(peak.at_ns, 2 * kMs);
  const Graph less = without(graph, {task_named(graph, "aten::a")});
  EXPECT_EQ(memory_peak(less, *simulate(less)).bytes, 1280);
}

TEST(GraphOfRecording, KnowsTheModuleOfAKernel) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto instance = builder.instance("Conv2d", "layer1.conv");
  const auto stack = builder.stack({{"model.py", "forward", 5, instance}});
  const auto op = builder.op({"aten::conv2d", stack, 0, kMs});
  builder.activity({"kernel", 2 * kMs, 3 * kMs, builder.call({Call::kLaunch, 10, 20, op})});
  const Graph graph = graph_of(builder);
  const Task& kernel = graph.tasks[task_named(graph, "kernel")];
  EXPECT_EQ(graph.modules[kernel.module], "layer1.conv");
  EXPECT_EQ(graph.lines[kernel.line].line, 5);
}

TEST(GraphOfRecording, NamesAModuleWithoutANameByItsClass) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto instance = builder.instance("CrossEntropyLoss", "");
  builder.op({"aten::a", builder.stack({{"loss.py", "forward", 5, instance}}), 0, kMs});
  const Graph graph = graph_of(builder);
  EXPECT_EQ(graph.modules[graph.tasks[task_named(graph, "aten::a")].module], "CrossEntropyLoss");
}

}  // namespace
}  // namespace ridgeline::step
