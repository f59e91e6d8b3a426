// What a data-parallel step takes at least and at most, where only the time of one rank is known.
#include "jobs/predict/steps_of_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace ridgeline::jobs {
namespace {

using ::testing::HasSubstr;

constexpr double kBytes = 1 << 20;  ///< of the first bucket

/// The links of the file are taken at 85 % of their bandwidth, and from a third of that to three times as much.
constexpr const char* kMachines = R"(
[[machine]]
name = "node"
count = 2
ranks = 4
[[link]]
from = "node"
to = "node"
latency_us = 0
bandwidth_gbit_s = 80
[network]
latency_us = 0
bandwidth_gbit_s = 8
)";

protocol::Replica replica_of(std::vector<protocol::ReadyGradient> gradients) {
  protocol::Replica replica;
  replica.gradients = std::move(gradients);
  return replica;
}

/// A first bucket of 1 MiB and, when backward is over, one of 2 MiB.
protocol::Replica two_buckets() { return replica_of({{"b", 1 << 20, "float32"}, {"a", 1 << 21, "float32"}}); }

std::vector<StepOfRanks> steps(const StepBounds& alone, const protocol::Replica& replica) {
  const auto cluster = parse_cluster(kMachines, "c.toml");
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().message());
  const auto found = steps_of_ranks(alone, replica, *cluster);
  EXPECT_TRUE(found) << (found ? "" : found.error().message());
  return found ? *found : std::vector<StepOfRanks>();
}

/// A ring of N sends 2 (N - 1) / N of the bytes over each link.
TEST(StepsOfRanks, HideAllThatBackwardCanOrNothing) {
  const std::vector<StepOfRanks> found = steps({5e6, 6e6}, two_buckets());
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].ranks, 2);
  EXPECT_NEAR(found[0].step.low_ns, 5e6 + 2 * kBytes / (10 * 0.85) / 3, 1);
  EXPECT_NEAR(*found[0].step.high_ns, 1.1 * 6e6 + 3 * kBytes / (10 * 0.85) * 3, 1);
  EXPECT_EQ(found[1].ranks, 4);
  EXPECT_NEAR(found[1].step.low_ns, 5e6 + 1.5 * 2 * kBytes / (10 * 0.85) / 3, 1);
  EXPECT_EQ(found[2].ranks, 8);
  EXPECT_NEAR(*found[2].step.high_ns, 1.1 * 6e6 + 1.75 * 3 * kBytes / (1 * 0.85) * 3, 1) << "over the network";
}

TEST(StepsOfRanks, TakeAtLeastAllCommunication) {
  EXPECT_NEAR(steps({1e3, 2e3}, two_buckets())[0].step.low_ns, 3 * kBytes / (10 * 0.85) / 3, 1);
}

TEST(StepsOfRanks, ABoundGivesABound) { EXPECT_FALSE(steps({5e6}, two_buckets())[0].step.high_ns.has_value()); }

TEST(StepsOfRanks, SendBuffersBeforeForward) {
  protocol::Replica replica = two_buckets();
  replica.buffers["float32"] = 1 << 20;
  const double more = steps({5e6}, replica)[0].step.low_ns - steps({5e6}, two_buckets())[0].step.low_ns;
  EXPECT_NEAR(more, kBytes / (10 * 0.85) / 3, 1);
}

TEST(StepsOfRanks, AccumulatedGradientsAreNotModelled) {
  const auto cluster = parse_cluster(kMachines, "c.toml");
  const auto found = steps_of_ranks({5e6}, replica_of({{"a", 4, "float32"}, {"a", 4, "float32"}}), *cluster);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("several times for a"));
}

}  // namespace
}  // namespace ridgeline::jobs
