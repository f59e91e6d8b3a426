#include "cluster/best_strategy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/unit/cluster/local_step.h"

namespace ridgeline::cluster {
namespace {

using ::testing::HasSubstr;
using testing::LocalStep;
using testing::random_step;

/// The step with its backward K times in a row; the gradients are those of the last.
LocalStep repeated(const LocalStep& step, int times) {
  LocalStep all = step;
  const std::vector<graph::Task> backward(step.graph.tasks.begin(), step.graph.tasks.end() - 1);
  all.graph.tasks.clear();
  for (int time = 0; time < times; ++time) {
    all.graph.tasks.insert(all.graph.tasks.end(), backward.begin(), backward.end());
  }
  all.graph.tasks.push_back(step.graph.tasks.back());
  for (std::size_t task = 0; task + 1 < all.graph.tasks.size(); ++task) {
    all.graph.tasks[task].next = static_cast<graph::TaskId>(task) + 1;
  }
  all.waits = static_cast<graph::TaskId>(all.graph.tasks.size() - 1);
  all.graph.end = all.waits;
  for (Gradient& gradient : all.gradients) {
    gradient.ready += static_cast<graph::TaskId>(backward.size()) * static_cast<graph::TaskId>(times - 1);
  }
  return all;
}

double simulated(const LocalStep& step, const std::vector<int>& ranks, const Strategy& strategy,
                 const Network& network) {
  const LocalStep all = repeated(step, strategy.accumulate);
  const auto rank = data_parallel(all.graph, ranks, all.gradients, all.waits, {.cap_bytes = strategy.bucket_bytes});
  EXPECT_TRUE(rank);
  const auto job = join({*rank}, network, Joining::kWhole);
  EXPECT_TRUE(job);
  return static_cast<double>(simulate::simulate(job->graph)->total_ns) / strategy.accumulate;
}

TEST(BestStrategy, IsThatOfAnExhaustiveSearchWithFewerSimulations) {
  std::mt19937 random(17);
  StrategySpace space{.bucket_bytes = {}, .accumulate = {1, 2, 4, 8}};
  for (std::uint64_t mib = 1; mib <= 128; mib *= 2) space.bucket_bytes.push_back(mib << 20U);
  std::size_t simulations = 0;
  std::size_t strategies = 0;
  std::vector<std::uint64_t> winners;
  for (int round = 0; round < 40; ++round) {
    const LocalStep step = random_step(random, 60);
    std::vector<int> ranks(std::size_t{2} << static_cast<unsigned>(round % 6));
    std::iota(ranks.begin(), ranks.end(), 0);
    const Link link{1e3 * std::uniform_real_distribution(1.0, 500.0)(random),
                    std::uniform_real_distribution(1.0, 10.0)(random)};
    const Network network{.slowest = link, .between = {}, .machine_of = {}};
    double fastest = std::numeric_limits<double>::infinity();
    for (const std::uint64_t bucket : space.bucket_bytes) {
      for (const int accumulate : space.accumulate) {
        fastest = std::min(fastest, simulated(step, ranks, {bucket, accumulate}, network));
      }
    }
    const auto best = best_strategy({step.graph, step.gradients, step.waits, ranks}, space, network);
    ASSERT_TRUE(best) << best.error().message();
    EXPECT_NEAR(best->ns_per_batch, fastest, 1);
    EXPECT_NEAR(simulated(step, ranks, best->strategy, network), fastest, 1);
    simulations += best->simulations;
    strategies += best->strategies;
    winners.push_back(best->strategy.bucket_bytes);
  }
  EXPECT_LE(simulations * 20, strategies);
  std::ranges::sort(winners);
  EXPECT_NE(winners.front(), winners.back()) << "one bucket size is always best: the test shows nothing";
  RecordProperty("simulations", static_cast<int>(simulations));
  RecordProperty("strategies", static_cast<int>(strategies));
}

TEST(BestStrategy, RefusesAnEmptySpaceAndBadSteps) {
  std::mt19937 random(1);
  const LocalStep step = random_step(random, 3);
  const Training training{step.graph, step.gradients, step.waits, {0, 1}};
  EXPECT_THAT(best_strategy(training, {}, {}).error().message(), HasSubstr("at least one bucket size"));
  EXPECT_THAT(best_strategy(training, {{1}, {0}}, {}).error().message(), HasSubstr("at least 1"));
  Training without = training;
  without.gradients.clear();
  EXPECT_THAT(best_strategy(without, {{1}, {1}}, {}).error().message(), HasSubstr("no gradients"));
}

}  // namespace
}  // namespace ridgeline::cluster
