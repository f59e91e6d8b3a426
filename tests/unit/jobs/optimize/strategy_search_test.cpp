#include "jobs/optimize/strategy_search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include "jobs/optimize/changed_step.h"
#include "jobs/optimize/job_changes.h"
#include "tests/unit/jobs/replay/recorded_ddp.h"

namespace ridgeline::jobs {
namespace {

using testing::DdpJob;
using testing::DdpStep;
using ::testing::HasSubstr;

/// Two buckets of other sizes; gradients of 1 to 64 kB.
DdpStep random_step(std::mt19937& random) {
  DdpStep step;
  const std::size_t count = 8 + random() % 24;
  std::int64_t ready = 100;
  for (std::size_t i = 0; i < count; ++i) {
    ready += 5 + static_cast<std::int64_t>(random() % 200);
    step.ready_us.push_back(ready);
    step.bytes.push_back(1000 * (1 + random() % 64));
  }
  step.buckets = {count / 4, count - count / 4};
  step.latency_us = 1 + static_cast<std::int64_t>(random() % 300);
  step.us_per_kb = 1 + static_cast<std::int64_t>(random() % 10);
  return step;
}

StrategySpace some_space() {
  StrategySpace space{{}, {2}, {2, 4}};
  for (std::uint64_t bytes = 1000; bytes <= 1 << 22U; bytes *= 2) {
    space.bucket_bytes.push_back(bytes);
  }
  return space;
}

const auto kAlways = [](std::size_t, std::size_t) { return true; };

double exhaustive_ms(const RecordedJob& job, const StrategySpace& space) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const std::uint64_t bytes : space.bucket_bytes) {
    const auto sized = with_bucket_size(job, bytes, TransferAssumption::kTransfer);
    EXPECT_TRUE(sized);
    for (const double times : {1.0, space.compression.front()}) {
      const auto changed = with_compression(*sized, times, TransferAssumption::kTransfer);
      const auto replayed = replay(*changed);
      EXPECT_TRUE(replayed);
      EXPECT_LE(least_step_ms(*changed), median_step_ms(replayed->step_ns) + 1e-6);
      const auto parts = replay(*with_partition(*changed, 2, TransferAssumption::kTransfer));
      EXPECT_TRUE(parts);
      EXPECT_LE(median_step_ms(replayed->step_ns), median_step_ms(parts->step_ns) + 1e-4) << "dPRO, theorem 2";
      for (const int count : {1, 2, 4}) {
        fastest = std::min(fastest, median_step_ms(accumulated_ns(*changed, *replayed, count)));
      }
    }
  }
  return fastest;
}

TEST(BestStrategy, IsThatOfAnExhaustiveSearchWithFewerReplays) {
  std::mt19937 random(17);
  const StrategySpace space = some_space();
  std::size_t replays = 0;
  std::size_t strategies = 0;
  std::vector<std::uint64_t> winners;
  for (int round = 0; round < 20; ++round) {
    const auto job = DdpJob(random_step(random)).made();
    ASSERT_TRUE(job) << job.error().message();
    const auto best = best_strategy(*job, space, kAlways);
    ASSERT_TRUE(best) << best.error().message();
    EXPECT_LE(best->replayed.front().step.step_ms.value, exhaustive_ms(*job, space) + 1e-6);
    EXPECT_EQ(best->replayed.front().strategy.accumulate, 4);
    EXPECT_TRUE(best->is_complete);
    replays += best->replayed.size();
    strategies += best->strategies;
    winners.push_back(best->replayed.front().strategy.bucket_bytes.value_or(0));
  }
  EXPECT_LE(replays * 10, strategies);
  std::ranges::sort(winners);
  EXPECT_NE(winners.front(), winners.back()) << "one bucket size is always best: the test shows nothing";
}

TEST(BestStrategy, NoOrderOfBucketsIsFasterThanThatOfTheGradients) {
  std::mt19937 random(29);
  std::size_t slower = 0;
  for (int round = 0; round < 10; ++round) {
    DdpStep step = random_step(random);
    const std::size_t quarter = step.bytes.size() / 4;
    step.buckets = {quarter, quarter, quarter, step.bytes.size() - 3 * quarter};
    const auto job = DdpJob(step).made();
    ASSERT_TRUE(job);
    const double as_recorded = median_step_ms(replay(*with_recorded_buckets(*job))->step_ns);
    std::vector<std::size_t> order = {0, 1, 2, 3};
    while (std::ranges::next_permutation(order).found) {
      const double ms = median_step_ms(replay(*with_bucket_order(*job, order))->step_ns);
      EXPECT_GE(ms, as_recorded - 1e-4);
      slower += ms > as_recorded + 1e-4 ? 1 : 0;
    }
  }
  EXPECT_GT(slower, 0U) << "the order never matters: the test shows nothing";
}

TEST(BestStrategy, ShardedStrategiesAreSearchedBesides) {
  const auto job = DdpJob({{2000, 3000, 5000}, {1000, 1000, 4000}, {2, 1}}).made();
  ASSERT_TRUE(job);
  StrategySpace space{{1, 1 << 20}, {2}, {2}};
  space.sharding = {1, 2};
  const auto best = best_strategy(*job, space, kAlways);
  ASSERT_TRUE(best) << best.error().message();
  EXPECT_EQ(best->strategies, 3U * 2 * 2 + 3 * 2 + 3);
  const auto is_allowed = [](const ReplayedStrategy& one) {
    return one.strategy.sharding == 0 ||
           (one.strategy.compression == 1 && one.strategy.accumulate == (one.strategy.sharding == 1 ? 2 : 1));
  };
  EXPECT_TRUE(std::ranges::all_of(best->replayed, is_allowed));
  EXPECT_GT(best->replayed.front().strategy.sharding, 0) << "half of the optimizer is more than a gather";
  EXPECT_GT(best->replayed.front().step.step_ms.high, best->replayed.front().step.step_ms.value);
  space.sharding = {3};
  EXPECT_FALSE(best_strategy(*job, space, kAlways));
}

TEST(BestStrategy, OnlyWhatFitsIsReplayed) {
  const auto job = DdpJob({{2000, 3000, 5000}, {1000, 1000, 4000}, {2, 1}}).made();
  ASSERT_TRUE(job);
  StrategySpace space{{1, 1 << 20}, {2}, {}};
  space.fits = [](const Strategy& one) { return one.compression == 1; };
  const auto best = best_strategy(*job, space, kAlways);
  ASSERT_TRUE(best);
  ASSERT_FALSE(best->replayed.empty());
  EXPECT_TRUE(std::ranges::all_of(best->replayed, [](const auto& one) { return one.strategy.compression == 1; }));
  space.fits = [](const Strategy&) { return false; };
  EXPECT_TRUE(best_strategy(*job, space, kAlways)->replayed.empty());
}

TEST(BestStrategy, EachChangeOfTheUsersOwnIsTriedAloneAndAllTogether) {
  const auto job = DdpJob({{2000, 3000, 5000}, {1000, 1000, 4000}, {2, 1}}).made();
  ASSERT_TRUE(job);
  const auto scaled = [](const char* name, double factor) {
    step::UserStep step;
    step.what = step::UserStep::Do::kScale;
    step.select.names = {name};
    step.amount = {factor, factor, factor};
    return std::vector<step::UserChange>(2, {name, "", {step}});
  };
  StrategySpace space{{}, {}, {}};
  space.own = {scaled("aten::mm", 0.5), scaled("aten::add", 2)};
  const auto best = best_strategy(*job, space, kAlways);
  ASSERT_TRUE(best) << best.error().message();
  EXPECT_EQ(best->strategies, 4U);
  EXPECT_EQ(best->replayed.front().strategy.own, std::vector<std::size_t>{0});
  const auto& all = best->replayed;
  const auto both = std::ranges::find(all, std::vector<std::size_t>{0, 1},
                                      [](const ReplayedStrategy& one) { return one.strategy.own; });
  ASSERT_TRUE(both == all.end() || both->step.step_ms.value > all.front().step.step_ms.value);
}

TEST(BestStrategy, RecomputationIsOfModulesThatTheJobHas) {
  const auto job = DdpJob({{200, 300}, {1000, 4000}, {1, 1}}).made();
  ASSERT_TRUE(job);
  const auto best = best_strategy(*job, {{}, {}, {}, {{"layers.0"}}}, kAlways);
  ASSERT_FALSE(best);
  EXPECT_THAT(best.error().message(), HasSubstr("did not run forward and backward of layers.0"));
}

TEST(BestStrategy, FusedOperationsHaveAnIntervalThatHasTheJobAsItIs) {
  DdpStep step{{2000, 3000, 5000}, {1000, 1000, 4000}, {2, 1}};
  step.pointwise_us = 1000;
  const auto job = DdpJob(step).made();
  ASSERT_TRUE(job);
  const auto plain = best_strategy(*job, {{1, 1 << 20}, {}, {}}, kAlways);
  const auto fused = best_strategy(*job, {{1, 1 << 20}, {}, {}, {}, true}, kAlways);
  ASSERT_TRUE(plain && fused) << fused.error().message();
  EXPECT_EQ(fused->strategies, 2 * plain->strategies);
  const ReplayedStrategy& best = fused->replayed.front();
  EXPECT_TRUE(std::ranges::all_of(fused->replayed, [](const auto& one) { return one.strategy.fuse; }));
  EXPECT_NEAR(plain->replayed.front().step.step_ms.value - best.step.step_ms.value, 0.25, 1e-6);
  EXPECT_LE(best.step.step_ms.low, plain->replayed.front().step.step_ms.value - 0.5);
  EXPECT_LT(best.step.speed_up.low, 1) << "it may save nothing";
}

TEST(BestStrategy, MicroBatchesBeforeTheLastSendNothing) {
  const auto job = DdpJob({{200, 300, 500}, {1000, 2000, 4000}, {2, 1}}).made();
  ASSERT_TRUE(job);
  const auto replayed = replay(*job);
  ASSERT_TRUE(replayed);
  ASSERT_EQ(replayed->step_ns[0][0], 995'000);
  EXPECT_EQ(accumulated_ns(*job, *replayed, 1), replayed->step_ns);
  EXPECT_EQ(accumulated_ns(*job, *replayed, 2)[1][1], (995'000 + 500'000) / 2) << "until its last gradient";
  // The first bucket is called at 300 and on its way for 40, the second one after the last gradient.
  EXPECT_EQ(accumulated_ns(*job, *replayed, 2, 0.5)[1][1], (995'000 + 500'000 - 20'000) / 2);
}

TEST(BestStrategy, CommunicationMayHaveTakenHalfOfTheCores) {
  auto job = DdpJob({{2000, 3000, 5000}, {1000, 1000, 4000}, {2, 1}}).made();
  ASSERT_TRUE(job);
  const auto found = [&] { return best_strategy(*job, {{4000}, {}, {2}}, kAlways); };
  auto best = found();
  ASSERT_TRUE(best) << best.error().message();
  const analysis::Measured not_known = best->replayed.front().step.step_ms;
  job->core_share = 0.25;
  best = found();
  const analysis::Measured known = best->replayed.front().step.step_ms;
  EXPECT_LT(known.value, not_known.value);
  EXPECT_NEAR(known.low, not_known.low, 1e-3 * known.low) << "both ends stay possible";
  EXPECT_NEAR(known.high, not_known.high, 1e-3 * known.high);
}

TEST(BestStrategy, EndsWhenItIsTold) {
  std::mt19937 random(3);
  std::size_t ended = 0;
  for (int round = 0; round < 40; ++round) {
    const auto job = DdpJob(random_step(random)).made();
    ASSERT_TRUE(job);
    const auto all = best_strategy(*job, some_space(), kAlways);
    ASSERT_TRUE(all);
    if (all->replayed.size() < 2) {
      continue;
    }
    const auto best = best_strategy(*job, some_space(), [](std::size_t, std::size_t) { return false; });
    ASSERT_TRUE(best);
    EXPECT_EQ(best->replayed.size(), 1U);
    EXPECT_FALSE(best->is_complete);
    ++ended;
  }
  EXPECT_GT(ended, 0U);
}

TEST(BestStrategy, RefusesWhatItCannotKnow) {
  const auto refused = [](const DdpStep& step, const StrategySpace& space) {
    const auto job = DdpJob(step).made();
    const auto best = job ? best_strategy(*job, space, kAlways) : base::Result<BestStrategy>(job.error());
    return best ? std::string() : best.error().message();
  };
  const DdpStep step{{200, 300}, {1000, 4000}, {1, 1}};
  EXPECT_EQ(refused(step, some_space()), "");
  EXPECT_THAT(refused(step, {{}, {}, {0}}), HasSubstr("1 or more"));
  EXPECT_THAT(refused(step, {{}, {0.5}, {}}), HasSubstr("1 or more"));
  EXPECT_THAT(refused(step, {{}, {}, {}, {}, true}), HasSubstr("no two pointwise operations"));
  EXPECT_THAT(refused({{200, 300}, {1000, 4000}, {2}}, some_space()), HasSubstr("another bucket_cap_mb"));
}

}  // namespace
}  // namespace ridgeline::jobs
