#include "analysis/memory/regimes.h"

#include <gtest/gtest.h>

#include <vector>

#include "analysis/time/time_model.h"

namespace ridgeline::analysis {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1024} * 1024;

Allocation of(std::vector<std::uint64_t> bytes, bool before = false) {
  Allocation allocation;
  allocation.bytes = std::move(bytes);
  allocation.before = before;
  return allocation;
}

TEST(Regimes, BeginWhereABlockIsMappedAnewAndWhereThreadsShareALoop) {
  // 64 KiB per sample: 32 MiB from 512 on; 1 KiB per sample: 128 KiB from 128 on.
  const Ledger ledger{4, {of({4 * kMiB, 8 * kMiB, 16 * kMiB}), of({64 << 10, 128 << 10, 256 << 10})}};
  const std::vector<Regime> regimes = regimes_of(ledger, {64, 128, 256});
  ASSERT_EQ(regimes.size(), 3U);
  EXPECT_EQ(regimes[0].from_batch, 2);  // the large block's loop
  EXPECT_EQ(regimes[1].from_batch, 128);
  EXPECT_EQ(regimes[2].from_batch, 512);
  EXPECT_GT(regimes[2].ms, 1);
  EXPECT_LT(regimes[1].ms, 0.1);
}

TEST(Regimes, BeginNearWhereABlockOfVaryingSizeIsMappedAnew) {
  const Ledger ledger{4, {of({4 * kMiB, 9 * kMiB, 16 * kMiB})}};
  const std::vector<Regime> regimes = regimes_of(ledger, {64, 128, 256});
  ASSERT_EQ(regimes.size(), 2U);
  EXPECT_EQ(regimes[1].from_batch, 512);
}

TEST(Regimes, AreNotOfWhatLivesOnDoesNotGrowOrIsFarAway) {
  const Ledger ledger{4,
                      {of({4 * kMiB, 8 * kMiB, 16 * kMiB}, true), of({48 * kMiB, 48 * kMiB, 48 * kMiB}),
                       of({64, 128, 256}), of({4 * kMiB, 11 * kMiB, 16 * kMiB})}};
  EXPECT_TRUE(regimes_of(ledger, {64, 128, 256}).empty());
}

/// The interval has room for a regime that begins between a sample and the size that is asked; a sample knows its own.
TEST(Regimes, WidenTheIntervalWhereNoSampleHasSeenThem) {
  std::vector<TimeSample> samples;
  for (const auto& [size, ms] : {std::pair{128, 0.9}, {256, 1.3}, {512, 2.0}}) {
    samples.push_back({size, {ms, 0.99 * ms, 1.01 * ms}, 100, 10});
  }
  TimeModel model = *fit_time_model(samples);
  const Estimate without = time_at(model, 1024);
  EXPECT_LT(*without.interval->high, 8.81);
  model.regimes = {{700, 8}};
  EXPECT_GT(*time_at(model, 1024).interval->high, 8.81);
  EXPECT_EQ(time_at(model, 1024).interval->low, without.interval->low);
  EXPECT_EQ(*time_at(model, 600).interval->high, *time_at(*fit_time_model(samples), 600).interval->high);
  samples.push_back({1024, {8.8, 8.7, 8.9}, 100, 10});
  TimeModel seen = *fit_time_model(samples);
  seen.regimes = model.regimes;
  EXPECT_LT(*time_at(seen, 1024).interval->high, 9.2);
  EXPECT_LT(time_at(seen, 900).interval->low, time_at(*fit_time_model(samples), 900).interval->low + 1e-12);
}

/// A step of 8 ms that may begin at 300 cannot make a batch of 400 slower than one of 512 was, nor one of 200 faster
/// than one of 128.
TEST(Regimes, StayBetweenTheSamplesAroundThem) {
  std::vector<TimeSample> samples;
  for (const auto& [size, ms] : {std::pair{64, 0.8}, {128, 1.1}, {512, 2.9}, {1024, 5.3}}) {
    samples.push_back({size, {ms, 0.99 * ms, 1.01 * ms}, 100, 10});
  }
  TimeModel model = *fit_time_model(samples);
  const Estimate above = time_at(model, 400);
  const Estimate below = time_at(model, 200);
  model.regimes = {{300, 8}};
  EXPECT_NEAR(*time_at(model, 400).interval->high - *above.interval->high, 2.9 - above.value, 1e-9);
  EXPECT_NEAR(below.interval->low - time_at(model, 200).interval->low, below.value - 1.1, 1e-9);
}

}  // namespace
}  // namespace ridgeline::analysis
