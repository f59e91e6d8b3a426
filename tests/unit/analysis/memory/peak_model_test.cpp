#include "analysis/memory/peak_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::analysis {
namespace {

using recording::Recording;
using testing::kNone;
using testing::RecordingBuilder;
using testing::Stage;

/// A block of a step: born and freed at these instants of the iteration (0: before it; 0: never freed).
struct PlannedBlock {
  std::uint64_t birth = 0;
  std::uint64_t death = 0;
  std::function<std::uint64_t(int batch_size)> bytes;  ///< 0: not allocated at that batch size
  std::uint32_t line = 1;
};

using PlannedBlocks = std::vector<PlannedBlock>;

auto linear(std::uint64_t slope, std::uint64_t intercept) {
  return [=](int batch_size) { return intercept + slope * static_cast<std::uint64_t>(batch_size); };
}

/// What the agent would record of the step.
Recording record(const PlannedBlocks& step, int batch_size) {
  struct BlockEvent {
    std::uint64_t time;
    std::size_t block;
    bool allocates;
  };
  std::vector<BlockEvent> events;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i].bytes(batch_size) > 0) {
      events.push_back({step[i].birth == 0 ? i : 1000 + step[i].birth, i, true});
      if (step[i].death > 0) {
        events.push_back({1000 + step[i].death, i, false});
      }
    }
  }
  std::ranges::stable_sort(events, {}, &BlockEvent::time);
  RecordingBuilder builder;
  builder.iteration(1000, 3000);
  const std::uint32_t op = builder.op({"aten::op", builder.at("a.py", 1), 1000, 3000});
  for (const BlockEvent& event : events) {
    const std::uint64_t address = 0x100 * (event.block + 1);
    if (event.allocates) {
      const PlannedBlock& block = step[event.block];
      builder.allocate({event.time, address, block.bytes(batch_size), builder.at("a.py", block.line),
                        event.time < 1000 ? kNone : op, event.time < 1000 ? Stage::kModel : Stage::kIteration});
    } else {
      builder.release(event.time, address);
    }
  }
  return builder.build();
}

/// Blocks from before the iteration are weights, the others activations; each is its line's.
auto label_of(const Recording& recording) {
  return [&recording](std::uint32_t event) -> MemoryLabel {
    const bool before = recording.memory_time()[event] < 1000;
    return {before ? Category::kWeights : Category::kActivations,
            {"a.py", recording.node_line()[recording.memory_node()[event]]}};
  };
}

base::Result<PeakModel> fit(const PlannedBlocks& step, const std::vector<int>& sizes, int backward_passes = 1) {
  std::vector<Recording> recordings;
  for (const int size : sizes) {
    recordings.push_back(record(step, size));
  }
  std::vector<SampledMemory> samples;
  std::vector<const Recording*> views;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    views.push_back(&recordings[i]);
    samples.push_back({sizes[i], &recordings[i], label_of(recordings[i]), backward_passes});
  }
  const auto ledger = match_allocations(views);
  if (!ledger) {
    return ledger.error();
  }
  return fit_peak_model(samples, *ledger);
}

/// The batch is divided by Tensor.chunk(4), of which the recorded sizes show nothing.
TEST(PeakModel, OfGradientAccumulationRoundsUpToWholeMicroBatches) {
  const auto chunk = [](int batch_size) { return 100 * ((static_cast<std::uint64_t>(batch_size) + 3) / 4); };
  const PlannedBlocks step = {{0, 0, linear(0, 500)}, {1, 2, chunk}};
  const auto model = fit(step, {8, 16, 32}, 4);
  ASSERT_TRUE(model.has_value());
  for (const int batch_size : {1, 2, 8, 12, 13, 15, 49, 64}) {
    const Measured peak = peak_at(*model, batch_size);
    EXPECT_EQ(peak.value, 500.0 + static_cast<double>(chunk(batch_size))) << batch_size;
    EXPECT_EQ(peak.low, 500 + 25.0 * batch_size) << "the passes may have other parts each";
    EXPECT_EQ(peak.high, peak.value);
  }
  EXPECT_EQ(largest_batch_within(*model, 1799, 1 << 24), 48);
  EXPECT_EQ(largest_batch_within(*model, 1800, 1 << 24), 52);
}

TEST(PeakModel, OfSeveralBackwardPassesIsExactWhereASampleShowsThatTheyDoNotDivideTheBatch) {
  const auto model = fit({{0, 0, linear(0, 500)}, {1, 2, linear(100, 0)}}, {2, 4, 8}, 4);
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->parts_of_batch, 1);
  const Measured peak = peak_at(*model, 5);
  EXPECT_EQ(peak.low, 1000);
  EXPECT_EQ(peak.high, 1000);
}

TEST(PeakModel, MovesToAnotherInstantAsTheBatchGrows) {
  // A workspace of fixed size rules small batches, activations rule large ones.
  const PlannedBlocks step = {
      {0, 0, linear(0, 500)}, {1, 2, linear(0, 1000)}, {3, 9, linear(100, 0)}, {4, 8, linear(20, 1)}};
  const auto model = fit(step, {2, 4, 8});
  ASSERT_TRUE(model.has_value());
  EXPECT_TRUE(model->checked);
  EXPECT_EQ(model->allocations, 4);
  EXPECT_EQ(model->not_linear, 0);
  EXPECT_EQ(model->value.size(), 2U);
  for (const int batch_size : {1, 2, 3, 8, 9, 100, 1 << 24}) {
    const Measured peak = peak_at(*model, batch_size);
    EXPECT_EQ(peak.value, std::max(1500.0, 501 + 120.0 * batch_size));
    EXPECT_EQ(peak.low, peak.value);
    EXPECT_EQ(peak.high, peak.value);
  }
  EXPECT_EQ(largest_batch_within(*model, 1499, 1 << 24), std::nullopt);
  EXPECT_EQ(largest_batch_within(*model, 1500, 1 << 24), 8);
  EXPECT_EQ(largest_batch_within(*model, 501 + 120 * 50, 1 << 24), 50);
  EXPECT_EQ(largest_batch_within(*model, 501 + 120 * 50 - 1, 1 << 24), 49);
  EXPECT_EQ(largest_batch_within(*model, 1e30, 1000), 1000);
  EXPECT_EQ(least_batch(*model, 1 << 24), 1);
  EXPECT_TRUE(grows(*model));
}

TEST(PeakModel, SaysWhatIsAliveAtItsPeak) {
  const PlannedBlocks step = {
      {0, 0, linear(0, 500), 1}, {1, 2, linear(0, 1000), 2}, {3, 9, linear(100, 0), 3}, {4, 8, linear(20, 1), 4}};
  const auto model = fit(step, {2, 4, 8});
  ASSERT_TRUE(model.has_value());
  ASSERT_EQ(model->parts.size(), 2U);
  EXPECT_EQ(model->parts[0].size(), 2U);
  ASSERT_EQ(model->parts[1].size(), 3U);
  EXPECT_EQ(model->parts[1][0].location, (Location{"a.py", 3}));
  EXPECT_EQ(model->parts[1][0].category, Category::kActivations);
  EXPECT_EQ(model->parts[1][0].slope, 100);
  for (const int batch_size : {1, 2, 8, 9, 100}) {
    const auto bytes = peak_by_category(*model, batch_size);
    EXPECT_EQ(bytes[static_cast<std::size_t>(Category::kWeights)], 500);
    EXPECT_NEAR(bytes[static_cast<std::size_t>(Category::kActivations)] + 500, peak_at(*model, batch_size).value, 1e-6);
  }
}

TEST(PeakModel, NamesWhatIsNotLinearAndBoundsIt) {
  const auto steps = [](int batch_size) -> std::uint64_t { return batch_size < 5 ? 100 : 700; };
  const PlannedBlocks step = {{0, 0, linear(0, 500)}, {1, 5, linear(10, 0)}, {2, 3, steps, 42}};
  const auto model = fit(step, {2, 4, 8});
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->not_linear, 1);
  ASSERT_EQ(model->largest_not_linear.size(), 1U);
  const NotLinear& named = model->largest_not_linear[0];
  EXPECT_EQ(named.operation, "aten::op");
  EXPECT_EQ(named.location, (Location{"a.py", 42}));
  EXPECT_EQ(named.bytes, (std::vector<std::uint64_t>{100, 100, 700}));
  for (const int sampled : {2, 4, 8}) {
    EXPECT_EQ(peak_at(*model, sampled).value, 500.0 + 10 * sampled + static_cast<double>(steps(sampled)));
  }
  for (const int batch_size : {1, 3, 5, 6, 7, 9, 20}) {
    const double real = 500.0 + 10 * batch_size + static_cast<double>(steps(batch_size));
    const Measured peak = peak_at(*model, batch_size);
    EXPECT_LE(peak.low, real) << batch_size;
    EXPECT_GE(peak.high, real) << batch_size;
  }
}

std::uint64_t power(int batch_size, int exponent) {
  std::uint64_t value = 1;
  for (int i = 0; i < exponent; ++i) {
    value *= static_cast<std::uint64_t>(batch_size);
  }
  return value;
}

/// A contrastive loss: a matrix of similarities between all samples, another one of pairs, and what is linear.
TEST(PeakModel, KnowsWhatGrowsWithTheSquareOrTheCubeOfTheBatch) {
  const auto similarities = [](int b) { return 16 * power(b, 2); };
  const auto pairs = [](int b) { return 2 * power(b, 2) - 2 * power(b, 1); };
  const auto triplets = [](int b) { return 4 * power(b, 3); };
  const PlannedBlocks square = {
      {0, 0, linear(0, 5000)}, {1, 9, linear(300, 0)}, {2, 6, similarities, 7}, {4, 5, pairs}};
  PlannedBlocks cube = square;
  cube.push_back({7, 8, triplets, 8});
  for (const PlannedBlocks& step : {square, cube}) {
    const auto model = fit(step, {64, 128, 256});
    ASSERT_TRUE(model.has_value());
    for (const int batch_size : {1, 2, 32, 64, 100, 256, 257, 512, 5000, 100'000}) {
      const auto real = static_cast<double>(testing::peak_bytes(record(step, batch_size)));
      const Measured peak = peak_at(*model, batch_size);
      EXPECT_NEAR(peak.value, real, 1e-9 * real) << batch_size;
      EXPECT_EQ(peak.low, peak.value);
      EXPECT_EQ(peak.high, peak.value);
      double sum = 0;
      for (const double bytes : peak_by_category(*model, batch_size)) {
        sum += bytes;
      }
      EXPECT_NEAR(sum, real, 1e-9 * real);
    }
    const auto largest = largest_batch_within(*model, 256 << 20U, 1 << 24);
    ASSERT_TRUE(largest.has_value());
    EXPECT_LE(testing::peak_bytes(record(step, *largest)), std::uint64_t{256} << 20U);
    EXPECT_GT(testing::peak_bytes(record(step, *largest + 1)), std::uint64_t{256} << 20U);
  }
  // Two sizes leave one to check that it is a pure square.
  EXPECT_EQ(peak_at(*fit({{1, 2, similarities}}, {64, 128}), 1000).value, 16e6);
}

/// Growth that lies on no polynomial: the interval holds the truth, and what is named for an amount of memory stays in
/// it.
TEST(PeakModel, BoundsWhatGrowsOtherwise) {
  using Bytes = std::function<std::uint64_t(int)>;
  const auto whole = [](double value) { return static_cast<std::uint64_t>(value); };
  const std::vector<Bytes> growths = {
      [&](int b) { return whole(64.0 * b * std::log2(b + 1)); },  // sorting
      [&](int b) { return whole(9.0 * std::pow(b, 1.5)); },
      [&](int b) { return 4096 + 16 * power((b + 31) / 32 * 32, 2); },  // padded
      [&](int b) { return 1000 + 7 * power(b, 1) + 3 * power(b, 2) + 9 * power(b % 7, 1); },
      [&](int b) { return 512 * ((101 * power(b, 2) + 511) / 512); },  // rounded by an allocator
      [&](int b) { return 4096 * ((130 * power(b, 1) + 4095) / 4096); },
      [&](int b) { return whole(0.01 * std::pow(b, 2.7)); },
  };
  for (std::size_t i = 0; i < growths.size(); ++i) {
    const PlannedBlocks step = {{0, 0, linear(0, 50'000)}, {1, 9, linear(300, 0)}, {2, 6, growths[i]}};
    const auto model = fit(step, {48, 96, 192});
    ASSERT_TRUE(model.has_value());
    for (const int batch_size : {24, 60, 150, 193, 250, 384, 1000, 20'000}) {
      const auto real = static_cast<double>(testing::peak_bytes(record(step, batch_size)));
      const Measured peak = peak_at(*model, batch_size);
      EXPECT_LE(peak.low, real * 1.0001) << i << ", " << batch_size;
      EXPECT_GE(peak.high, real * 0.9999) << i << ", " << batch_size;
    }
    const auto largest = largest_batch_within(*model, 256 << 20U, 1 << 24);
    ASSERT_TRUE(largest.has_value());
    const auto real = static_cast<double>(testing::peak_bytes(record(step, *largest)));
    EXPECT_LE(real, 1.05 * (256 << 20U)) << i << ", " << *largest;
  }
}

TEST(PeakModel, TakesInWhatOnlySomeBatchSizesAllocate) {
  const auto large_only = [](int batch_size) -> std::uint64_t { return batch_size < 4 ? 0 : 64; };
  const PlannedBlocks step = {{1, 9, linear(10, 0)}, {2, 3, large_only, 7}, {4, 8, linear(1, 5)}};
  const auto model = fit(step, {2, 4, 8});
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->allocations, 3);
  EXPECT_EQ(peak_at(*model, 2).value, 27);
  EXPECT_EQ(peak_at(*model, 4).value, 104);
  EXPECT_EQ(peak_at(*model, 8).value, 144);
}

TEST(PeakModel, WithTwoBatchSizesIsUnchecked) {
  const auto model = fit({{1, 2, linear(3, 4)}}, {2, 4});
  ASSERT_TRUE(model.has_value());
  EXPECT_FALSE(model->checked);
  EXPECT_EQ(peak_at(*model, 10).value, 34);
}

TEST(PeakModel, DoesNotGrowWhereEveryBatchSizeNeedsTheSame) {
  const auto model = fit({{1, 2, linear(0, 4)}}, {2, 4, 8});
  ASSERT_TRUE(model.has_value());
  EXPECT_FALSE(grows(*model));
  EXPECT_EQ(largest_batch_within(*model, 4, 77), 77);
}

TEST(PeakModel, SaysWhyThereIsNone) {
  EXPECT_EQ(fit({{1, 2, linear(3, 4)}}, {2}).error().message(), "at least two batch sizes are needed");

  RecordingBuilder full;
  full.iteration(1000, 2000);
  full.columns.loss[static_cast<std::size_t>(recording::Loss::kMemory)] = 1;
  const Recording recording = full.build();
  const std::vector<const Recording*> both = {&recording, &recording};
  EXPECT_EQ(match_allocations(both).error().message(), "a recording was full");

  PlannedBlocks other;  // every allocation is of another line at another batch size
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const auto at_two = [](int batch_size) -> std::uint64_t { return batch_size == 2 ? 8 : 0; };
    const auto at_four = [](int batch_size) -> std::uint64_t { return batch_size == 4 ? 8 : 0; };
    other.push_back({i + 1, 0, at_two, 1});
    other.push_back({i + 1, 0, at_four, 2});
  }
  EXPECT_EQ(fit(other, {2, 4}).error().message(), "the step allocates in a different order at each batch size");
}

/// Random steps of linear blocks: exact at every batch size. With blocks that are not: exact at the sampled ones.
class RandomSteps : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomSteps, ArePredictedToTheByte) {
  std::mt19937 random(GetParam());
  const bool all_linear = GetParam() % 2 == 0;
  PlannedBlocks step;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::uint64_t birth = random() % 4 == 0 ? 0 : 1 + random() % 900;
    const std::uint64_t death = random() % 4 == 0 ? 0 : birth + 1 + random() % 300;
    const std::uint64_t slope = random() % 50;
    const std::uint64_t intercept = 1 + random() % 400;
    const auto line = static_cast<std::uint32_t>(1 + random() % 3);
    if (all_linear || random() % 3 > 0) {
      step.push_back({birth, death, linear(slope, intercept), line});
    } else {
      const std::uint64_t salt = random();
      step.push_back({birth, death, [=](int b) { return (salt >> (static_cast<unsigned>(b) % 40U)) % 900; }, line});
    }
  }
  const std::vector<int> sizes = {3, 6, 12};
  const auto model = fit(step, sizes);
  ASSERT_TRUE(model.has_value());
  const std::vector<int> asked = all_linear ? std::vector<int>{1, 2, 3, 5, 6, 9, 12, 13, 40, 500} : sizes;
  for (const int batch_size : asked) {
    const auto real = static_cast<double>(testing::peak_bytes(record(step, batch_size)));
    const Measured peak = peak_at(*model, batch_size);
    EXPECT_EQ(peak.value, real) << batch_size;
    EXPECT_LE(peak.low, real);
    EXPECT_GE(peak.high, real);
  }
  const double limit = peak_at(*model, 30).value;
  const auto largest = largest_batch_within(*model, limit, 1000);
  ASSERT_TRUE(largest.has_value());
  EXPECT_GE(*largest, 30);
  EXPECT_LE(peak_at(*model, *largest).value, limit);
  for (int batch_size = *largest + 1; batch_size <= 1000; ++batch_size) {
    EXPECT_GT(peak_at(*model, batch_size).value, limit);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSteps, ::testing::Range(0U, 60U));

}  // namespace
}  // namespace ridgeline::analysis
