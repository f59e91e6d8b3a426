#include "analysis/build_profile.h"

#include <gmock/gmock.h>

#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kEngine;
using testing::kMs;
using testing::kNone;
using testing::RecordingBuilder;
using testing::Scope;
using testing::Stage;

/// A recorded iteration of 10 ms: 4 ms of model.py:5 in forward and 4 in backward, and 2 ms at its end. Its peak is
/// `bytes`.
RecordingBuilder recorded(std::uint64_t bytes = 1000) {
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto forward = builder.stack({{"train.py", "step", 3}, {"model.py", "forward", 5}});
  builder.op({"aten::a", forward, 0, 4 * kMs, kNone, Scope::kFunction, 5});
  builder.backward("ABackward0", builder.stack({{"train.py", "step", 7}, kEngine}), 4 * kMs, 8 * kMs, 5);
  builder.allocate({1 * kMs, 0xA0, bytes, forward, 0}).release(9 * kMs, 0xA0);
  return builder;
}

BatchRun run_of(int batch_size, double bare_ms, std::uint64_t bytes = 1000) {
  return {batch_size, 3, std::vector<double>(9, bare_ms * 1e6), recorded(bytes).build()};
}

RunInput input_of(std::vector<BatchRun> runs, int batch_size) {
  RunInput input;
  input.entry_path = "/project/entry.py";
  input.scope = testing::project_scope();
  input.batch_size = batch_size;
  input.runs = std::move(runs);
  return input;
}

TEST(BuildProfile, ScalesTheRecordingToTheBareIteration) {
  const Profile profile = build_profile(input_of({run_of(32, 8)}, 32));
  EXPECT_DOUBLE_EQ(profile.iteration.ms.value, 8);
  EXPECT_DOUBLE_EQ(profile.scale, 0.8);
  EXPECT_DOUBLE_EQ(profile.recording_overhead, 0.25);
  EXPECT_DOUBLE_EQ(profile.samples_per_second.value_or(0), 4000);
  EXPECT_DOUBLE_EQ(profile.lines.at(0).self_ms, 6.4);
  EXPECT_DOUBLE_EQ(profile.user_line_share, 0.8);
  EXPECT_DOUBLE_EQ(profile.breakdown.ms, 8);
  EXPECT_EQ(profile.recorded_iterations, 1);
  EXPECT_EQ(profile.iteration.iterations, 9);
  EXPECT_EQ(profile.iteration.warmup_iterations, 3);
}

/// A size without a recording tells the time model only; the lines still sum to it.
TEST(BuildProfile, TakesSizesThatWereOnlyTimed) {
  RunInput input = input_of({run_of(8, 10, 1000), run_of(16, 20, 2000), run_of(32, 40, 4000)}, 16);
  input.timed = {{24, std::vector<double>(9, 33e6), 1}, {64, std::vector<double>(9, 90e6), 1}, {16, {1e6}, 1}};
  const Profile profile = build_profile(input);
  std::vector<int> sizes;
  for (const TimeSample& sample : profile.time_samples) {
    sizes.push_back(sample.batch_size);
  }
  EXPECT_EQ(sizes, (std::vector<int>{8, 16, 24, 32, 64}));
  EXPECT_EQ(profile.memory_samples.size(), 3U);
  EXPECT_DOUBLE_EQ(profile.iteration.ms.value, 20);
  ASSERT_TRUE(profile.time_model.has_value());
  for (const int size : {1, 8, 20, 24, 50, 64, 100}) {
    double sum = 0;
    for (const LineCost& line : profile.lines) {
      sum += value_at(line.self_model, size);
    }
    for (const OtherCost& item : profile.other) {
      sum += value_at(item.model, size);
    }
    const double whole = value_at(profile.time_model->pieces, size);
    EXPECT_NEAR(sum, whole, 1e-6 * whole) << size;
  }
}

TEST(BuildProfile, ClosesOverLinesOtherItemsAndPhases) {
  const Profile profile = build_profile(input_of({run_of(32, 7.3)}, 32));
  double ms = 0;
  std::uint64_t bytes = 0;
  for (const LineCost& line : profile.lines) {
    ms += line.self_ms;
    bytes += line.peak_bytes;
  }
  for (const OtherCost& other : profile.other) {
    ms += other.ms;
    bytes += other.peak_bytes;
  }
  EXPECT_NEAR(ms, 7.3, 1e-9);
  EXPECT_EQ(bytes, profile.peak_bytes);
  double phases = 0;
  for (const double phase : profile.iteration.by_phase) {
    phases += phase;
  }
  EXPECT_NEAR(phases, 7.3, 1e-9);
  std::uint64_t categories = 0;
  for (const std::uint64_t category : profile.by_category) {
    categories += category;
  }
  EXPECT_EQ(categories, profile.peak_bytes);
  EXPECT_EQ(profile.peak_bytes, 1000U);
}

TEST(BuildProfile, FitsTimeAndMemoryAgainstTheBatchSize) {
  const Profile profile =
      build_profile(input_of({run_of(64, 18, 7400), run_of(16, 6, 2600), run_of(32, 10, 4200)}, 32));
  ASSERT_TRUE(profile.time_model.has_value());
  ASSERT_EQ(profile.time_model->pieces.size(), 1U);
  EXPECT_NEAR(profile.time_model->pieces[0].slope, 0.25, 1e-9);
  EXPECT_NEAR(profile.time_model->pieces[0].intercept, 2, 1e-9);
  ASSERT_TRUE(profile.memory_model.has_value());
  EXPECT_NEAR(profile.memory_model->slope, 100, 1e-9);
  EXPECT_NEAR(profile.memory_model->intercept, 1000, 1e-6);
  ASSERT_TRUE(profile.max_samples_per_second.has_value());
  EXPECT_NEAR(*profile.max_samples_per_second, 4000, 1e-6);
  ASSERT_EQ(profile.time_samples.size(), 3U);
  EXPECT_EQ(profile.time_samples[0].batch_size, 16);
  EXPECT_EQ(profile.time_samples[2].batch_size, 64);
  EXPECT_EQ(profile.memory_samples[1].peak_bytes, 4200U);
  EXPECT_EQ(profile.memory_samples[1].peak_bytes, profile.peak_bytes);
}

/// Lines and named items grow as the step does, at every batch size; what is alive at the peak is the peak's.
TEST(BuildProfile, GivesEveryLineItsShareOfTheModels) {
  const Profile profile =
      build_profile(input_of({run_of(64, 18, 7400), run_of(16, 6, 2600), run_of(32, 10, 4200)}, 32));
  for (const double batch_size : {1.0, 32.0, 50.0, 500.0}) {
    double sum = 0;
    for (const LineCost& line : profile.lines) {
      sum += value_at(line.self_model, batch_size);
    }
    for (const OtherCost& other : profile.other) {
      sum += value_at(other.model, batch_size);
    }
    EXPECT_NEAR(sum, value_at(profile.time_model->pieces, batch_size), 1e-9);
  }
  EXPECT_NEAR(value_at(profile.lines[0].self_model, 32), profile.lines[0].self_ms, 1e-9);
  ASSERT_TRUE(profile.peak_model.has_value());
  const auto& parts = profile.peak_model->parts.at(0);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].category, Category::kActivations);
  EXPECT_EQ(parts[0].location, profile.lines[0].location);
  EXPECT_NEAR(parts[0].intercept + 32 * parts[0].slope, 4200, 1e-6);
}

TEST(BuildProfile, ChecksTheModelsWithWhatIsKeptOutOfThem) {
  BatchRun check = run_of(128, 40, 13800);
  check.check = true;
  std::vector<BatchRun> runs = {run_of(64, 18, 7400), run_of(16, 6, 2600), run_of(32, 10, 4200)};
  runs.push_back(std::move(check));
  const Profile profile = build_profile(input_of(std::move(runs), 32));
  EXPECT_EQ(profile.time_samples.size(), 3U);
  EXPECT_EQ(profile.memory_samples.size(), 3U);
  ASSERT_EQ(profile.checks.size(), 1U);
  const Check& checked = profile.checks[0];
  EXPECT_EQ(checked.time.batch_size, 128);
  EXPECT_EQ(checked.time.ms.value, 40);
  EXPECT_TRUE(checked.extrapolated);
  EXPECT_NEAR(checked.predicted_ms->value, 34, 1e-6);
  EXPECT_EQ(checked.peak_bytes, 13800U);
  EXPECT_EQ(checked.predicted_peak_bytes->value, 13800);
}

/// A block of so many bytes on a device whose allocator holds `reserved` then.
BatchRun device_run(int batch_size, std::uint64_t bytes, std::uint64_t reserved) {
  BatchRun run = run_of(batch_size, batch_size);
  RecordingBuilder builder;
  builder.iteration(0, 10 * kMs);
  const auto forward = builder.stack({{"train.py", "step", 3}, {"model.py", "forward", 5}});
  builder.op({"aten::a", forward, 0, 4 * kMs, kNone, Scope::kFunction, 5});
  builder.allocate({1 * kMs, 0xA0, bytes + 512, forward, 0, Stage::kIteration, 0, reserved, bytes, 0});
  run.recording = builder.release(9 * kMs, 0xA0).build();
  return run;
}

TEST(BuildProfile, PredictsWhatADevicesAllocatorReserves) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  RunInput input = input_of({device_run(16, 16 * kMiB, 16 * kMiB), device_run(32, 32 * kMiB, 32 * kMiB)}, 32);
  input.runs.push_back(device_run(101, 101 * kMiB, 102 * kMiB));
  input.runs.back().check = true;
  input.allocator = {"", 1024 * kMiB, 1000 * kMiB};
  input.capacity_bytes = 1000 * kMiB;
  const Profile profile = build_profile(input);
  ASSERT_NE(profile.allocator, nullptr);
  EXPECT_EQ(profile.allocator->largest, 1000);
  EXPECT_TRUE(profile.allocator->is_bounded);
  ASSERT_EQ(profile.checks.size(), 1U);
  EXPECT_EQ(profile.checks[0].peak_reserved_bytes, 102 * kMiB);
  EXPECT_EQ(profile.checks[0].predicted_reserved_bytes, 102.0 * kMiB);
  EXPECT_EQ(build_profile(input_of({run_of(16, 8), run_of(32, 9)}, 32)).allocator, nullptr);
}

TEST(BuildProfile, HasNoModelOfOneBatchSize) {
  const Profile profile = build_profile(input_of({run_of(32, 8)}, 32));
  EXPECT_FALSE(profile.time_model.has_value());
  EXPECT_FALSE(profile.memory_model.has_value());
  EXPECT_FALSE(profile.max_samples_per_second.has_value());
}

TEST(BuildProfile, HasNoGreatestThroughputWhereTimeDoesNotGrow) {
  const Profile profile = build_profile(input_of({run_of(16, 8), run_of(32, 8), run_of(64, 7.9)}, 32));
  EXPECT_TRUE(profile.time_model.has_value());
  EXPECT_FALSE(profile.max_samples_per_second.has_value());
}

TEST(BuildProfile, PassesOnWhatItDoesNotMeasure) {
  RunInput input = input_of({run_of(32, 10)}, 32);
  input.environment = {"3.11.9", "2.5.1", "cpu", "Some Processor", 2, "cuda"};
  input.warnings = {"of the worker"};
  input.capacity_bytes = 1 << 30;
  input.skipped = {{128, protocol::FailureKind::kOutOfMemory, "it did not fit"}};
  const Profile profile = build_profile(input);
  EXPECT_EQ(profile.entry_path, "/project/entry.py");
  EXPECT_EQ(profile.project_root, "/project");
  EXPECT_EQ(profile.environment.torch, "2.5.1");
  EXPECT_EQ(profile.environment.in_place_of, "cuda");
  ASSERT_FALSE(profile.warnings.empty());
  EXPECT_EQ(profile.warnings[0], "of the worker");
  EXPECT_EQ(profile.capacity_bytes, std::uint64_t{1} << 30);
  ASSERT_EQ(profile.skipped.size(), 1U);
  EXPECT_EQ(profile.skipped[0].batch_size, 128);
}

std::vector<std::string> warnings_of(const RecordingBuilder& builder, std::vector<double> bare_ms) {
  for (double& time : bare_ms) {
    time *= 1e6;
  }
  return build_profile(input_of({{32, 3, std::move(bare_ms), builder.build()}}, 32)).warnings;
}

TEST(Warnings, AreAbsentFromAGoodRun) { EXPECT_THAT(warnings_of(recorded(), {10, 10.1, 9.9, 10, 10, 10}), IsEmpty()); }

TEST(Warnings, TellWhatTheRecordingLost) {
  RecordingBuilder builder = recorded();
  builder.columns.loss[static_cast<std::size_t>(recording::Loss::kOps)] = 17;
  builder.columns.loss[static_cast<std::size_t>(recording::Loss::kMemory)] = 23;
  const auto warnings = warnings_of(builder, {10, 10, 10, 10, 10, 10});
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings[0], HasSubstr("17 operations"));
  EXPECT_THAT(warnings[1], HasSubstr("23 allocations"));
}

TEST(Warnings, TellOfTimesThatVary) {
  const auto warnings = warnings_of(recorded(), {9, 9.5, 10, 10, 11, 11.5});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("25 % wide"));
}

TEST(Warnings, TellOfTooFewTimesForAnInterval) {
  EXPECT_THAT(warnings_of(recorded(), {10, 10, 10, 10, 10}), ElementsAre(HasSubstr("5 iterations: too few")));
  EXPECT_THAT(warnings_of(recorded(), {10}), ElementsAre(HasSubstr("1 iteration: too few")));
}

TEST(Warnings, TellOfARecordingUnlikeTheBareIteration) {
  const auto slower = warnings_of(recorded(), {5, 5, 5, 5, 5, 5});
  ASSERT_EQ(slower.size(), 1U);
  EXPECT_THAT(slower[0], HasSubstr("200 % of the bare ones"));
  const auto faster = warnings_of(recorded(), {20, 20, 20, 20, 20, 20});
  ASSERT_EQ(faster.size(), 1U);
  EXPECT_THAT(faster[0], HasSubstr("50 % of the bare ones"));
}

TEST(BuildProfile, SurvivesARecordingOfNothing) {
  RecordingBuilder builder;
  builder.iteration(0, 0);
  const Profile profile = build_profile(input_of({{1, 0, {1e6}, builder.build()}}, 1));
  EXPECT_EQ(profile.scale, 1);
  EXPECT_EQ(profile.peak_bytes, 0U);
  EXPECT_THAT(profile.lines, IsEmpty());
}

}  // namespace
}  // namespace ridgeline::analysis
