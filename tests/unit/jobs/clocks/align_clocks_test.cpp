#include "jobs/clocks/align_clocks.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/jobs/replay/generated_job.h"
#include "tests/unit/rounds.h"

namespace ridgeline::jobs {
namespace {

using ridgeline::testing::rounds;
using testing::GeneratedJob;
using ::testing::HasSubstr;
using testing::JobGenerator;

constexpr double kRoundingNs = 4;  ///< the generator rounds times to nanoseconds

struct Quality {
  double worst_error_ns = 0;
  double widest_ns = 0;
  double outside_ns = 0;  ///< by how much the truth was outside of the range, at most
};

Quality quality_of(const GeneratedJob& job, const std::vector<ClockOffset>& clocks) {
  Quality quality;
  for (std::size_t machine = 1; machine < clocks.size(); ++machine) {
    for (int part = 0; part <= 100; ++part) {
      const std::int64_t now = job.lasts_ns / 100 * part;
      const std::int64_t local = job.clocks[machine].read(now);
      if (local < clocks[machine].begin_ns || local > clocks[machine].end_ns) {
        continue;
      }
      const auto truth = static_cast<double>(job.clocks[0].read(now) - local - clocks[machine].base_ns);
      const OffsetRange range = clocks[machine].range_at(local);
      quality.worst_error_ns = std::max(quality.worst_error_ns, std::abs(range.estimate - truth));
      quality.widest_ns = std::max(quality.widest_ns, range.highest - range.lowest);
      quality.outside_ns = std::max({quality.outside_ns, range.lowest - truth, truth - range.highest});
    }
  }
  return quality;
}

std::size_t violated(const HappensBefore& recorded, const std::vector<ClockOffset>& clocks) {
  return static_cast<std::size_t>(std::ranges::count_if(recorded.orders, [&](const Order& order) {
    return clocks[order.from].aligned(order.before_ns) > clocks[order.to].aligned(order.after_ns);
  }));
}

TEST(AlignClocks, RecoversOffsetsOfAnHourAndDriftWithin50Microseconds) {
  for (int machines = 2; machines <= 8; machines += rounds(1, 3)) {
    const auto seed = static_cast<std::uint32_t>(machines);
    const GeneratedJob job =
        JobGenerator({.machines = machines, .ranks_of_machine = 2, .iterations = 100, .seed = seed}).make();
    const auto recorded = happens_before(job.ranks);
    ASSERT_TRUE(recorded) << recorded.error().message();
    EXPECT_EQ(recorded->unmatched, 0U);
    const auto clocks = align_clocks(*recorded);
    ASSERT_TRUE(clocks) << clocks.error().message();
    const Quality quality = quality_of(job, *clocks);
    EXPECT_LT(quality.worst_error_ns, 50e3) << machines << " machines";
    EXPECT_LT(quality.outside_ns, kRoundingNs) << machines << " machines";
    EXPECT_EQ(violated(*recorded, *clocks), 0U);
    RecordProperty("error_ns_" + std::to_string(machines), static_cast<int>(quality.worst_error_ns));
  }
}

TEST(AlignClocks, CollectivesAloneGiveAWiderRangeThatHolds) {
  double wide = 0;
  double narrow = 0;
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    for (const bool transfers : {false, true}) {
      const GeneratedJob job = JobGenerator({.machines = 4, .transfers = transfers, .seed = seed}).make();
      const auto recorded = happens_before(job.ranks);
      ASSERT_TRUE(recorded);
      const auto clocks = align_clocks(*recorded);
      ASSERT_TRUE(clocks) << clocks.error().message();
      const Quality quality = quality_of(job, *clocks);
      EXPECT_LT(quality.outside_ns, kRoundingNs);
      EXPECT_EQ(violated(*recorded, *clocks), 0U);
      (transfers ? narrow : wide) += quality.widest_ns;
    }
  }
  EXPECT_GT(wide, narrow);
}

/// Rows that are nearly the same: a basis of the linear program must not become singular.
TEST(AlignClocks, FindsOffsetsOfShortAndOfLongRecords) {
  for (const int machines : {3, 5, rounds(12, 6)}) {
    for (const int iterations : {2, 5, rounds(50, 20)}) {
      for (const double gap_s : {0.002, 0.6, 5.0}) {
        for (std::uint32_t seed = 1; seed <= (machines > 5 ? 1U : rounds(6U, 2U)); ++seed) {
          const GeneratedJob job =
              JobGenerator({.machines = machines, .iterations = iterations, .iteration_s = gap_s, .seed = seed}).make();
          const auto recorded = happens_before(job.ranks);
          ASSERT_TRUE(recorded);
          const auto clocks = align_clocks(*recorded);
          ASSERT_TRUE(clocks) << machines << " machines, " << iterations << " iterations of " << gap_s << " s, seed "
                              << seed << ": " << clocks.error().message();
          EXPECT_LT(quality_of(job, *clocks).outside_ns, kRoundingNs);
          EXPECT_EQ(violated(*recorded, *clocks), 0U);
        }
      }
    }
  }
}

/// Messages around a ring, twice a second apart, by clocks that are one.
void add_ring(HappensBefore& recorded, const std::vector<std::uint32_t>& machines, std::int64_t delay_ns) {
  for (std::size_t i = 0; i < machines.size(); ++i) {
    for (const std::int64_t now : {0, 1'000'000'000}) {
      recorded.orders.push_back({machines[i], machines[(i + 1) % machines.size()], now, now + delay_ns});
    }
  }
}

TEST(AlignClocks, MessagesAroundARingTakeEquallyLongAlsoWhereOneMachineIsAlwaysLate) {
  HappensBefore recorded{.machines = {"a", "b", "c", "late", "e", "f"}};
  add_ring(recorded, {0, 1, 2, 3}, 10'000);
  add_ring(recorded, {0, 4, 5}, 15'000);
  for (const std::uint32_t other : {0U, 1U, 2U, 4U, 5U}) {
    recorded.orders.push_back({3, other, 0, 200'000});
    recorded.orders.push_back({other, 3, 0, 20'000'000});
  }
  const auto clocks = align_clocks(recorded);
  ASSERT_TRUE(clocks) << clocks.error().message();
  for (const ClockOffset& clock : *clocks) {
    for (const std::int64_t now : {0, 1'000'000'000}) {
      EXPECT_NEAR(static_cast<double>(clock.aligned(now) - now), 0, 10);
    }
  }
}

/// Messages there are quick, and those back at one of the times: a drift of 500 ppm would make all of them so.
TEST(AlignClocks, DriftOfAShortRecordIsAsClocksUsuallyHaveIt) {
  const HappensBefore recorded{
      .machines = {"a", "b"},
      .orders = {{0, 1, 0, 40'000}, {1, 0, 0, 10'000}, {0, 1, 50'000'000, 50'010'000}, {1, 0, 50'000'000, 50'040'000}}};
  const auto clocks = align_clocks(recorded);
  ASSERT_TRUE(clocks) << clocks.error().message();
  const ClockOffset& clock = clocks->at(1);
  EXPECT_LE(std::abs(clock.at_end.estimate - clock.at_begin.estimate), 1e-4 * 50e6 + 10);
  EXPECT_FALSE(clock.drift_ppm().has_value());
}

TEST(AlignClocks, AlignsManyMachinesOneByOne) {
  const GeneratedJob job = JobGenerator({.machines = 18, .iterations = 4, .seed = 3}).make();
  const auto recorded = happens_before(job.ranks);
  ASSERT_TRUE(recorded) << recorded.error().message();
  const auto clocks = align_clocks(*recorded);
  ASSERT_TRUE(clocks) << clocks.error().message();
  const Quality quality = quality_of(job, *clocks);
  EXPECT_LT(quality.worst_error_ns, quality.widest_ns);
  EXPECT_LT(quality.outside_ns, kRoundingNs);
}

TEST(AlignClocks, OneMachineNeedsNothing) {
  const GeneratedJob job = JobGenerator({.machines = 1, .ranks_of_machine = 2}).make();
  const auto recorded = happens_before(job.ranks);
  ASSERT_TRUE(recorded);
  EXPECT_TRUE(recorded->orders.empty());
  const auto clocks = align_clocks(*recorded);
  ASSERT_TRUE(clocks);
  EXPECT_EQ(clocks->at(0).aligned(5), 5);
}

TEST(AlignClocks, AClockThatWasSetMeanwhileIsAnError) {
  GeneratedJob job = JobGenerator({.machines = 2}).make();
  for (Collective& collective : job.ranks[1].collectives) {
    if (collective.sequence < 100) {
      continue;
    }
    collective.started_ns += 30'000'000'000;
    collective.ended_ns += 30'000'000'000;
  }
  const auto recorded = happens_before(job.ranks);
  ASSERT_TRUE(recorded);
  const auto clocks = align_clocks(*recorded);
  ASSERT_FALSE(clocks);
  EXPECT_THAT(clocks.error().message(), HasSubstr("a clock was set"));
}

TEST(AlignClocks, MessagesInOneDirectionOnlyAreAnError) {
  GeneratedJob job = JobGenerator({.machines = 2}).make();
  for (RankRecord& rank : job.ranks) {
    rank.collectives.clear();
    std::erase_if(rank.transfers, [&](const Transfer& one) { return one.sends == (rank.rank == 1); });
  }
  const auto recorded = happens_before(job.ranks);
  ASSERT_TRUE(recorded);
  const auto clocks = align_clocks(*recorded);
  ASSERT_FALSE(clocks);
  EXPECT_THAT(clocks.error().message(), HasSubstr("one direction only"));
}

TEST(AlignClocks, AMachineThatSentNothingIsNamed) {
  const auto clocks = align_clocks({.machines = {"a", "b", "lonely"}, .orders = {{0, 1, 5, 9}, {1, 0, 5, 9}}});
  ASSERT_FALSE(clocks);
  EXPECT_THAT(clocks.error().message(), HasSubstr("lonely"));
}

TEST(HappensBefore, RefusesRecordsThatDoNotBelongTogether) {
  const GeneratedJob job = JobGenerator({.machines = 2}).make();
  auto twice = job.ranks;
  twice.push_back(twice[1]);
  EXPECT_THAT(happens_before(twice).error().message(), HasSubstr("two records"));
  auto other = job.ranks;
  other[1].world_size = 9;
  EXPECT_THAT(happens_before(other).error().message(), HasSubstr("9 ranks"));
  auto group = job.ranks;
  group[1].collectives[0].group = 7;
  EXPECT_THAT(happens_before(group).error().message(), HasSubstr("no known group"));
  auto time = job.ranks;
  time[1].transfers[0].ended_ns = -1;
  EXPECT_THAT(happens_before(time).error().message(), HasSubstr("ends before it starts"));
}

TEST(HappensBefore, OnlyTheRootHoldsBackABroadcast) {
  GeneratedJob job = JobGenerator({.machines = 3, .iterations = 1, .transfers = false}).make();
  for (auto& rank : job.ranks) {
    rank.collectives[0].kind = CollectiveKind::kBroadcast;
    rank.collectives[0].peer = 2;
  }
  const auto recorded = happens_before(job.ranks);
  ASSERT_TRUE(recorded);
  ASSERT_EQ(recorded->orders.size(), 2U);
  EXPECT_TRUE(std::ranges::all_of(recorded->orders, [](const Order& order) { return order.from == 2; }));
}

}  // namespace
}  // namespace ridgeline::jobs
