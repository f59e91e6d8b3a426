#include "analysis/memory/memory_over_time.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "analysis/build_profile.h"
#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using testing::Analysed;
using ::testing::ElementsAre;
using testing::kMs;
using testing::kNone;
using testing::RecordingBuilder;
using testing::Stage;

std::vector<std::uint64_t> totals(const MemoryOverTime& memory) {
  std::vector<std::uint64_t> sums(memory.ms.size());
  for (const std::vector<std::uint64_t>& bytes : memory.bytes) {
    std::ranges::transform(sums, bytes, sums.begin(), std::plus{});
  }
  return sums;
}

MemoryOverTime over_time(const Analysed& analysed) { return memory_over_time(analysed.recording, analysed.memory); }

TEST(MemoryOverTime, FollowsTheIterationWithThePeak) {
  RecordingBuilder builder;
  builder.iteration(100 * kMs, 200 * kMs).iteration(300 * kMs, 400 * kMs);
  builder.allocate({50 * kMs, 0xA0, 1000, 0, kNone, Stage::kModel});
  builder.allocate({110 * kMs, 0xB0, 10}).release(190 * kMs, 0xB0);
  builder.allocate({310 * kMs, 0xC0, 30}).allocate({320 * kMs, 0xD0, 20}).release(350 * kMs, 0xC0);
  builder.allocate({450 * kMs, 0xE0, 7000});
  const MemoryOverTime memory = over_time(Analysed(builder));
  EXPECT_EQ(memory.recorded_ms, 100);
  EXPECT_THAT(memory.ms, ElementsAre(0, 10, 20, 50));
  EXPECT_THAT(totals(memory), ElementsAre(1000, 1030, 1050, 1020));
  EXPECT_THAT(memory.bytes[static_cast<std::size_t>(Category::kWeights)], ElementsAre(1000, 1000, 1000, 1000));
  EXPECT_EQ(memory.peak, 2U);
}

TEST(MemoryOverTime, MayPeakAtTheStart) {
  RecordingBuilder builder;
  builder.iteration(100 * kMs, 200 * kMs);
  builder.allocate({10 * kMs, 0xA0, 700, 0, kNone, Stage::kModel}).release(110 * kMs, 0xA0);
  const MemoryOverTime memory = over_time(Analysed(builder));
  EXPECT_THAT(totals(memory), ElementsAre(700, 0));
  EXPECT_EQ(memory.peak, 0U);
}

TEST(MemoryOverTime, CountsABlockWhoseReleaseWasLostOnce) {
  RecordingBuilder builder;
  builder.iteration(0, 100 * kMs);
  builder.allocate({10 * kMs, 0xA0, 30}).allocate({20 * kMs, 0xA0, 50});
  EXPECT_THAT(totals(over_time(Analysed(builder))), ElementsAre(0, 30, 50));
}

/// Thousands of short-lived blocks, and one instant that is the peak by a byte.
TEST(MemoryOverTime, IsThinnedOutWithoutLosingThePeak) {
  RecordingBuilder builder;
  builder.iteration(0, 10'000 * kMs);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    builder.allocate({(2 * i + 1) * kMs, 0xA0, i == 3217 ? 101U : 100U}).release((2 * i + 2) * kMs, 0xA0);
  }
  const Analysed analysed(builder);
  const MemoryOverTime memory = over_time(analysed);
  EXPECT_LE(memory.ms.size(), kMaxInstants);
  EXPECT_GT(memory.ms.size(), kMaxInstants / 2);
  EXPECT_TRUE(std::ranges::is_sorted(memory.ms));
  EXPECT_EQ(totals(memory)[memory.peak], analysed.memory.peak_bytes);
  EXPECT_EQ(totals(memory)[memory.peak], 101U);
  EXPECT_EQ(memory.ms[memory.peak], 6435);
  EXPECT_EQ(std::ranges::count(totals(memory), 0U), std::ranges::count(totals(memory), 100U) + 3);
}

TEST(MemoryOverTime, IsPartOfAProfileWhosePeakIsKnown) {
  RecordingBuilder builder;
  builder.iteration(0, 100 * kMs);
  builder.allocate({10 * kMs, 0xA0, 30});
  RunInput input;
  input.scope = testing::project_scope();
  input.batch_size = 1;
  input.runs.push_back({1, 0, {1e8}, builder.build()});
  const Profile profile = build_profile(input);
  ASSERT_TRUE(profile.memory_over_time.has_value());
  EXPECT_EQ(totals(*profile.memory_over_time)[profile.memory_over_time->peak], profile.peak_bytes);
  input.peak_known = false;
  EXPECT_FALSE(build_profile(input).memory_over_time.has_value());
}

}  // namespace
}  // namespace ridgeline::analysis
