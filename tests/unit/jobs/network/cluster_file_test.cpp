// Files of clusters: what they say, and what is wrong with those that are refused.
#include "jobs/network/cluster_file.h"

#include <gmock/gmock.h>

#include "jobs/network/collective_times.h"

namespace ridgeline::jobs {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kTwoMachines = R"(
[[machine]]
name = "a"
ranks = 2
cores = 8
[[machine]]
name = "b"
ranks = 2
[[link]]
from = "a"
to = "a"
latency_us = 1
bandwidth_gbit_s = 80
[[link]]
from = "b"
to = "b"
latency_us = 1
bandwidth_gbit_s = 80
[network]
latency_us = 20
bandwidth_gbit_s = 8
)";

Cluster cluster_of(const std::string& text) {
  auto cluster = parse_cluster(text, "c.toml");
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().message());
  return *cluster;
}

std::string refusal(const std::string& text) {
  const auto cluster = parse_cluster(text, "c.toml");
  return cluster ? "" : cluster.error().message();
}

double slowest(const Cluster& cluster) {
  const auto links = ring_links(cluster);
  EXPECT_TRUE(links);
  double bytes_per_ns = 1e9;
  for (const Link& link : *links) {
    bytes_per_ns = std::min(bytes_per_ns, link.bytes_per_ns);
  }
  return bytes_per_ns;
}

TEST(ClusterFile, PlacesRanksMachineByMachine) {
  const Cluster cluster = cluster_of(kTwoMachines);
  EXPECT_EQ(cluster.ranks(), 4);
  EXPECT_THAT(cluster.placement, SizeIs(2));
  EXPECT_EQ(slowest(cluster), 1);
}

TEST(ClusterFile, NeighboursThatUseOneLinkShareIt) {
  const Cluster cluster = cluster_of(std::string(kTwoMachines) + "[placement]\nranks = [\"a\", \"b\", \"a\", \"b\"]\n");
  EXPECT_EQ(cluster.ranks(), 4);
  EXPECT_EQ(slowest(cluster), 0.5);
}

TEST(ClusterFile, SaysWhereItIsWrong) {
  EXPECT_THAT(refusal("[[machine]\n"), StartsWith("c.toml:1:"));
  EXPECT_THAT(refusal(""), HasSubstr("there is no [[machine]]"));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\ncount = 0\n"), StartsWith("c.toml:3:9: write a number from 1"));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\nspeed = 1\n"), StartsWith("c.toml:3:9: \"speed\" is no key"));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\n[[machine]]\nname = \"a\"\n"), HasSubstr("two machines \"a\""));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\n[network]\nlatency_us = nan\nbandwidth_gbit_s = 1\n"),
              StartsWith("c.toml:4:14: "));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\n[placement]\nranks = [\"z\"]\n"), StartsWith("c.toml:4:10: "));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\ncount = 1000000\nranks = 2\n"), HasSubstr("1,000,000 ranks"));
  const std::string all_reduce = "[[machine]]\nname = \"a\"\n[all_reduce]\nranks = 2\nbytes = [8, 8]\n";
  EXPECT_THAT(refusal(all_reduce + "time_us = [1]\n"), HasSubstr("\"time_us\" has 1 entries instead of 2"));
  EXPECT_THAT(refusal(all_reduce + "time_us = [1, 2]\nfour_us = [3, 4, 5]\n"), HasSubstr("\"four_us\" has more"));
  EXPECT_THAT(refusal(all_reduce + "time_us = [1, 2]\nfour_us = [3, 4]\nfour_low_us = [5, 6]\n"),
              HasSubstr("\"four_us\" is outside of its interval"));
  EXPECT_THAT(refusal(all_reduce + "time_us = [1, 2]\n"), HasSubstr("not ascending"));
}

TEST(ClusterFile, NeedsTheLinksOfTheRing) {
  const auto links = ring_links(cluster_of("[[machine]]\nname = \"a\"\ncount = 2\n"));
  ASSERT_FALSE(links);
  EXPECT_THAT(links.error().message(), HasSubstr("[network]"));
}

TEST(CollectiveTimes, LinksFormARing) {
  const auto times = CollectiveTimes::of(cluster_of(kTwoMachines));
  ASSERT_TRUE(times);
  // 6 steps of a quarter each, of which the link between machines takes longest, with 85 % of its bandwidth.
  EXPECT_DOUBLE_EQ(times->all_reduce(4e6).ns.value, 6 * (20e3 + 1e6 / 0.85));
  EXPECT_DOUBLE_EQ(times->broadcast(1e6).ns.value, 2 * (20e3 + 1e6 / 0.85));
  EXPECT_DOUBLE_EQ(times->all_reduce(4e6).ns.high, 3 * times->all_reduce(4e6).ns.value);
}

TEST(CollectiveTimes, ThatWereMeasuredAreTakenStepByStep) {
  const std::string file = R"(
[[machine]]
name = "a"
count = 4
[all_reduce]
ranks = 2
bytes = [1000, 2000]
time_us = [10, 30]
processor_us = [4, 8]
)";
  const auto times = CollectiveTimes::of(cluster_of(file));
  ASSERT_TRUE(times);
  // A step of 500 bytes takes 5 us, and one of 750 bytes 10 us; four ranks take six steps of a quarter.
  EXPECT_DOUBLE_EQ(times->all_reduce(2000).ns.value, 6 * 5e3);
  EXPECT_DOUBLE_EQ(times->all_reduce(3000).ns.value, 6 * 10e3);
  EXPECT_DOUBLE_EQ(times->all_reduce(8000).ns.value, 6 * 30e3) << "beyond the largest by its rate";
  EXPECT_DOUBLE_EQ(times->all_reduce(4).ns.value, 6 * 5e3) << "below the smallest as that one";
  EXPECT_DOUBLE_EQ(times->all_reduce(3000).processor_ns, 6 * 3e3);
  EXPECT_DOUBLE_EQ(times->all_reduce(3000).ns.low, 6 * 10e3 / 4) << "four ranks were not measured";
  EXPECT_DOUBLE_EQ(times->all_reduce(3000).next_ns.value, 6 * 10e3) << "four at once were not measured";
}

TEST(CollectiveTimes, SeveralAtOnceFollowEachOtherSooner) {
  const auto times = CollectiveTimes::of(cluster_of(R"(
[[machine]]
name = "a"
count = 2
[all_reduce]
ranks = 2
bytes = [1000, 2000, 4000, 8000]
time_us = [10, 20, 50, 90]
four_us = [25, 100, 40]
four_low_us = [20, 90, 40]
four_high_us = [30, 120, 40]
)"));
  ASSERT_TRUE(times) << times.error().message();
  EXPECT_DOUBLE_EQ(times->all_reduce(1000).ns.value, 10e3);
  EXPECT_DOUBLE_EQ(times->all_reduce(1000).next_ns.value, 6.25e3);
  EXPECT_DOUBLE_EQ(times->all_reduce(1000).next_ns.low, 5e3);
  EXPECT_DOUBLE_EQ(times->all_reduce(1000).next_ns.high, 7.5e3);
  EXPECT_DOUBLE_EQ(times->all_reduce(8000).next_ns.value, 90e3);
  EXPECT_DOUBLE_EQ(times->all_reduce(1500).next_ns.value, 15.625e3) << "between two sizes by a line";
}

}  // namespace
}  // namespace ridgeline::jobs
