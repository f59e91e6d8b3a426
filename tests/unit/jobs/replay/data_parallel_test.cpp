#include "jobs/replay/data_parallel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "tests/unit/jobs/replay/local_step.h"

namespace ridgeline::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LocalStep;
using testing::random_step;

constexpr Link kEthernet{30'000, 1.25};

TEST(BucketSizes, AreThoseOfTorch) {
  // torch.distributed._compute_bucket_assignment_by_size with limits of 1 MiB and 25 MiB gave [[0, 1], [2, 3, 4],
  // [5, 6], [7, 8, 9, 10]]; with 1 MiB twice [[0], [1, 2]].
  EXPECT_THAT(bucket_sizes({4'000, 4'096'000, 1'000, 600'000, 30'000'000, 500'000, 27'262'976, 100, 7'000'000,
                            12'000'000, 9'000'000},
                           {}),
              ElementsAre(2, 3, 2, 4));
  EXPECT_THAT(bucket_sizes({1'048'576, 1'048'572, 4}, {1'048'576, 1'048'576}), ElementsAre(1, 2));
  EXPECT_THAT(bucket_sizes({8, 8}, {}), ElementsAre(2));
  EXPECT_THAT(bucket_sizes({}, {}), IsEmpty());
}

/// By the rules of DDP alone.
double by_ddp_rules(const LocalStep& step, const BucketRule& rule, std::uint32_t world) {
  std::vector<std::uint64_t> bytes;
  for (const Gradient& gradient : step.gradients) {
    bytes.push_back(gradient.bytes);
  }
  double now = 0;
  double over = 0;
  std::size_t at = 0;
  for (const std::size_t size : bucket_sizes(bytes, rule)) {
    double sum = 0;
    for (const std::size_t end = at + size; at < end; ++at) {
      now += static_cast<double>(step.graph.tasks[at].duration_ns);
      sum += static_cast<double>(bytes[at]);
    }
    over = std::max(over, now) + cost_ns(CollectiveKind::kAllReduce, Algorithm::kRing, world, sum, kEthernet);
  }
  return over + static_cast<double>(step.graph.tasks[step.waits].duration_ns);
}

std::int64_t iteration(const LocalStep& step, const BucketRule& rule, std::size_t world) {
  std::vector<int> ranks(world);
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto one = data_parallel(step.graph, ranks, step.gradients, step.waits, rule);
  EXPECT_TRUE(one);
  const auto job = join({*one}, {.slowest = kEthernet}, Joining::kWhole);
  EXPECT_TRUE(job);
  const auto schedule = step::simulate(job->graph);
  EXPECT_TRUE(schedule);
  return schedule->total_ns;
}

TEST(DataParallel, TakesWhatTheRulesOfDdpSay) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const LocalStep step = random_step(random, 40);
    for (const std::uint64_t cap : {1ULL << 20U, 25ULL << 20U, 1ULL << 40U}) {
      for (const std::size_t world : {1U, 2U, 4U, 64U}) {
        EXPECT_NEAR(static_cast<double>(iteration(step, {1ULL << 20U, cap}, world)),
                    by_ddp_rules(step, {1ULL << 20U, cap}, static_cast<std::uint32_t>(world)), 50);
      }
    }
  }
}

TEST(DataParallel, RefusesTasksThatAreNotThere) {
  std::mt19937 random(1);
  const LocalStep step = random_step(random, 3);
  EXPECT_THAT(data_parallel(step.graph, {0}, {}, step.waits, {}).error().message(), HasSubstr("no gradients"));
  EXPECT_THAT(data_parallel(step.graph, {0}, step.gradients, 99, {}).error().message(), HasSubstr("no task waits"));
  EXPECT_THAT(data_parallel(step.graph, {0}, {{99, 4}}, step.waits, {}).error().message(), HasSubstr("does not have"));
}

/// As many gradients as ResNet-50 has parameters; a hundred tasks for each.
TEST(DataParallel, HundredThousandRanksTakeLessThanTwoSeconds) {
  std::mt19937 random(2);
  LocalStep step = random_step(random, 16'100);
  std::vector<Gradient> gradients;
  for (std::size_t place = 99; place < step.gradients.size(); place += 100) {
    gradients.push_back(step.gradients[place]);
  }
  step.gradients = gradients;
  for (const std::size_t world : {1U, 8U, 1'024U, 100'000U}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_GT(iteration(step, {}, world), 0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 2);
    RecordProperty("microseconds_" + std::to_string(world), static_cast<int>(1e6 * took.count()));
  }
}

}  // namespace
}  // namespace ridgeline::jobs
