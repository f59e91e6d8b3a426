// Peaks of sharded ranks, against what follows by hand.
#include "jobs/predict/sharded_memory.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/rounds.h"

namespace ridgeline::jobs {
namespace {

using analysis::Category;

std::vector<std::uint64_t>& of(analysis::MemoryOverTime& memory, Category category) {
  return memory.bytes[static_cast<std::size_t>(category)];
}

analysis::MemoryOverTime instants(std::size_t count) {
  analysis::MemoryOverTime memory;
  for (auto& category : memory.bytes) {
    category.resize(count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    memory.ms.push_back(static_cast<double>(i));
  }
  return memory;
}

/// Two units of 4 bytes; forward begins with the last one of backward.
const std::vector<ShardedUnit> kTwo = {{4, 0.6}, {4, 0.1}};

TEST(ShardedBuffers, Stage3GathersEachUnitTwice) {
  for (const int copies : {0, 1}) {
    SCOPED_TRACE(copies);
    const ShardedBuffers buffers(kTwo, 2, false, copies == 1);
    EXPECT_EQ(buffers.forward(0, 0.05), 0) << "before the first unit";
    EXPECT_EQ(buffers.forward(0, 0.5), 8) << "what was gathered, and the weights that are copied from it";
    EXPECT_EQ(buffers.forward(0.5, 0.7), 12) << "and what the unit before was copied from";
    EXPECT_EQ(buffers.forward(0.7, 0.8), 8);
    EXPECT_EQ(buffers.backward(0), 8) << "the unit, and the next one, gathered ahead";
    EXPECT_EQ(buffers.backward(3), 11);
    EXPECT_EQ(buffers.reduction(0, 3), 0) << "its gradients are not complete";
    EXPECT_EQ(buffers.reduction(0, 4), copies == 1 ? 14 : 12) << "the next unit; what is reduced, its copy, a shard";
    EXPECT_EQ(buffers.backward(4), 2 + 4 + (copies == 1 ? 8 : 4)) << "a shard of gradients, what was reduced, weights";
    EXPECT_EQ(buffers.backward(5), 2 + 4 + 4 + 1);
    EXPECT_EQ(buffers.gathered_for_backward(4), 2 + 4 * (1 + copies) + 8);
    EXPECT_EQ(buffers.backward(8), 4) << "the shards of all gradients";
    EXPECT_EQ(buffers.gathered_for_backward(8), 0);
  }
}

TEST(ShardedBuffers, Stage2KeepsWeightsUntilTheirBackward) {
  for (const int copies : {0, 1}) {
    SCOPED_TRACE(copies);
    const ShardedBuffers buffers(kTwo, 2, true, copies == 1);
    EXPECT_EQ(buffers.forward(0.5, 0.7), 16);
    EXPECT_EQ(buffers.forward(0.7, 0.8), 12) << "all weights, and what the last were copied from";
    EXPECT_EQ(buffers.backward(0), 8);
    EXPECT_EQ(buffers.backward(5), 2 + 4 + 1 + 4 * (1 + copies));
    EXPECT_EQ(buffers.gathered_for_backward(4), 0);
  }
}

TEST(ShardedBuffers, UnknownBeginsMayBeAtAnyTime) {
  const std::vector<ShardedUnit> units = {{4, 0.6}, {4}};
  const ShardedBuffers buffers(units, 2, false, false);
  EXPECT_EQ(buffers.forward(0, 0.1), 8);
}

/// Forward, and the gradients of two units of 4 bytes; then the optimizer.
analysis::MemoryOverTime two_units() {
  analysis::MemoryOverTime memory = instants(4);
  of(memory, Category::kWeights) = {8, 8, 8, 8};
  of(memory, Category::kOptimizerState) = {16, 16, 16, 16};
  of(memory, Category::kActivations) = {20, 10, 0, 0};
  of(memory, Category::kGradients) = {0, 4, 8, 8};
  return memory;
}

TEST(ShardedPeak, Stages0And1) {
  const analysis::MemoryOverTime memory = two_units();
  const auto peak = [&](Sharding sharding) {
    sharding.gradient_bytes = 8;
    const ShardedPeak found = sharded_peak(memory, sharding);
    EXPECT_EQ(found.low, found.high);
    return found.high;
  };
  EXPECT_EQ(peak({.ranks = 4}), 44 + 8) << "buckets beside the gradients";
  EXPECT_EQ(peak({.stage = 1, .ranks = 4}), 44 + 8 - 12);
  EXPECT_EQ(peak({.stage = 1, .ranks = 1}), 44 + 8);
  EXPECT_EQ(peak({.stage = 1, .ranks = 4, .state_share = 0.75}), 44 + 8 - 4) << "one tensor is most of the model";
  EXPECT_EQ(peak({.stage = 0, .ranks = 4, .has_buckets = true}), 44) << "they are in it";
}

TEST(ShardedPeak, HasTheBuffersOfTheUnitThatItsGradientsTell) {
  analysis::MemoryOverTime memory = two_units();
  Sharding sharding{.stage = 3, .ranks = 2, .gradient_bytes = 8, .units = kTwo};
  const std::uint64_t shards = 4 + 8;
  EXPECT_EQ(sharded_peak(memory, sharding).high, shards + 20 + 12) << "the second unit of forward";
  of(memory, Category::kActivations) = {0, 30, 0, 0};
  EXPECT_EQ(sharded_peak(memory, sharding).high, shards + 30 + 14)
      << "the first unit's gradients, before it is reduced";
  sharding.has_copies = true;
  const ShardedPeak peak = sharded_peak(memory, sharding);
  EXPECT_EQ(peak.low, shards + 30 + 14);
  EXPECT_EQ(peak.high, shards + 30 + 18) << "beside a copy of what was reduced";
  of(memory, Category::kActivations) = {0, 0, 0, 90};
  EXPECT_EQ(sharded_peak(memory, sharding).low, shards + 90 + 4) << "nothing but shards";
}

TEST(ShardedPeak, GradientsThatStayDoNotTellHowFarBackwardIs) {
  analysis::MemoryOverTime memory = two_units();
  Sharding sharding{.stage = 2, .ranks = 2, .gradient_bytes = 8, .units = kTwo};
  const std::uint64_t told = sharded_peak(memory, sharding).high;
  of(memory, Category::kGradients) = {8, 8, 8, 8};
  EXPECT_GE(sharded_peak(memory, sharding).high, told + 4);
}

/// In random steps, the ends are in order, a rank of many has at most what one of few has, and at least its shards and
/// what is not sharded.
TEST(ShardedPeak, KeepsItsBoundsForRandomSteps) {
  std::mt19937_64 random(16);
  const auto draw = [&](std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
  };
  for (int round = 0; round < ridgeline::testing::rounds(200, 50); ++round) {
    SCOPED_TRACE(round);
    Sharding sharding{.stage = static_cast<int>(draw(2, 3)), .has_copies = true};
    for (std::uint64_t unit = draw(1, 8); unit > 0; --unit) {
      sharding.units.push_back({2 * draw(1, 1000)});
      if (draw(0, 3) > 0) {
        sharding.units.back().forward_begin = static_cast<double>(draw(0, 100)) / 100;
      }
      sharding.gradient_bytes += sharding.units.back().bytes;
    }
    analysis::MemoryOverTime memory = instants(draw(1, 40));
    std::uint64_t made = 0;
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < memory.ms.size(); ++i) {
      of(memory, Category::kWeights)[i] = sharding.gradient_bytes;
      of(memory, Category::kGradients)[i] = made = std::min(sharding.gradient_bytes, made + draw(0, 400));
      others = std::max(others, of(memory, Category::kActivations)[i] = draw(0, 5000));
    }
    std::uint64_t before = std::numeric_limits<std::uint64_t>::max();
    for (const double ranks : {2, 8, 1000}) {
      sharding.ranks = ranks;
      const ShardedPeak peak = sharded_peak(memory, sharding);
      EXPECT_LE(peak.low, peak.high);
      EXPECT_LE(peak.high, before);
      EXPECT_GE(static_cast<double>(peak.low) + 1,
                static_cast<double>(others) + static_cast<double>(sharding.gradient_bytes) / ranks);
      before = peak.high;
    }
  }
}

TEST(ShardedPeak, ARankHasWholeTensorsOfTheState) {
  EXPECT_DOUBLE_EQ(largest_share({1, 1, 1, 1}, 4), 0.25);
  EXPECT_DOUBLE_EQ(largest_share({1, 6, 3}, 2), 0.6);
  EXPECT_DOUBLE_EQ(largest_share({5, 4, 3, 3, 3}, 2), 10.0 / 18) << "4 + 3 + 3";
  EXPECT_DOUBLE_EQ(largest_share({1, 6, 3}, 100'000), 0.6) << "the largest alone";
  EXPECT_DOUBLE_EQ(largest_share({}, 2), 1);
}

}  // namespace
}  // namespace ridgeline::jobs
