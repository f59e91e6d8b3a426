// What is measured of links, read and written as a cluster's file.
#include "jobs/record/network.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace ridgeline::jobs {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json measured() {
  return {{"machines",
           {{{"name", "a"}, {"devices", 1}, {"cores", 2}}, {{"name", "b \"quoted\""}, {"devices", 4}, {"cores", 8}}}},
          {"ranks", {"a", "b \"quoted\""}},
          {"links",
           {{{"from", "a"},
             {"to", "b \"quoted\""},
             {"latencyNs", {50e3, 40e3, 60e3}},
             {"times",
              {{{"bytes", 1024}, {"rounds", 200}, {"ns", {101e3, 100e3, 102e3}}},
               {{"bytes", 1 << 20}, {"rounds", 100}, {"ns", {100e3 + 8.388608e6, 8e6, 9e6}}}}},
             {"aloneBytesPerS", 125e6},
             {"bothWaysBytesPerS", 62.5e6}}}},
          {"allReduces",
           {{{"bytes", 1024},
             {"rounds", 9},
             {"ns", {2e5, 1e5, 3e5}},
             {"processorNs", {1e5, 1e5, 1e5}},
             {"fourAtOnceNs", {6e5, 5e5, 7e5}}},
            {{"bytes", 4096}, {"rounds", 9}, {"ns", {4e5, 3e5, 5e5}}, {"processorNs", {15e4, 1e5, 2e5}}}}}};
}

MeasuredNetwork network_of(const json& value = measured()) {
  auto network = parse_network(value.dump());
  EXPECT_TRUE(network.has_value()) << (network ? "" : network.error().message());
  return *network;
}

TEST(Network, HasTheBandwidthOfLargeMessagesBeyondTwoLatencies) {
  EXPECT_NEAR(bandwidth_gbit_s(network_of().links[0]), 1.0, 1e-9);
}

TEST(Network, HasALowerBoundWhereTheLatencyHidesTheTransfer) {
  json slow = measured();
  slow["links"][0]["latencyNs"] = {5e6, 5e6, 5e6};
  EXPECT_NEAR(bandwidth_gbit_s(network_of(slow).links[0]), 8 * 1048576 / (100e3 + 8.388608e6), 1e-9);
}

TEST(Network, IsWrittenAsAFileOfACluster) {
  const std::string toml = network_toml(network_of());
  EXPECT_THAT(toml, HasSubstr("[[machine]]\nname = \"b \\\"quoted\\\"\"\ndevices = 4\ncores = 8\n"));
  EXPECT_THAT(toml, HasSubstr("[all_reduce]\nranks = 2\nbytes = [1024, 4096]\ntime_us = [200.00, 400.00]\n"));
  EXPECT_THAT(toml, HasSubstr("processor_us = [100.00, 150.00]\nfour_us = [600.00]\nfour_low_us = [500.00]\n"
                              "four_high_us = [700.00]\n"));
  EXPECT_THAT(toml, HasSubstr("latency_us = 50.00\nbandwidth_gbit_s = 1.000\n"));
  EXPECT_THAT(toml, HasSubstr("ranks = [\"a\", \"b \\\"quoted\\\"\"]"));
  EXPECT_THAT(toml, HasSubstr("both directions at once 0.5 Gbit/s each"));
}

TEST(Network, IsRefusedWithFiguresThatCannotBe) {
  const auto refused = [](const char* name, const json& with) {
    json value = measured();
    value["links"][0][name] = with;
    return !parse_network(value.dump()).has_value();
  };
  EXPECT_TRUE(refused("aloneBytesPerS", 0));
  EXPECT_TRUE(refused("latencyNs", {1, 2}));
  EXPECT_TRUE(refused("latencyNs", {-1, 2, 3}));
  EXPECT_TRUE(refused("times", json::array()));
  EXPECT_FALSE(parse_network("{}").has_value());
  EXPECT_FALSE(parse_network("x").has_value());
}

}  // namespace
}  // namespace ridgeline::jobs
