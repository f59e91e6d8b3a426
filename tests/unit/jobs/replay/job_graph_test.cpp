#include "jobs/replay/job_graph.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "jobs/replay/job_analysis.h"

namespace ridgeline::jobs {
namespace {

using step::Graph;
using step::Task;
using step::TaskId;
using ::testing::HasSubstr;

constexpr Link kLink{20'000, 1.25};

Network network(Algorithm algorithm, int ranks_of_machine = 1) {
  return {.algorithm = algorithm, .slowest = kLink, .ranks_of_machine = ranks_of_machine};
}

/// Backward of layers of given times on a thread, each followed by the all-reduce of its gradient on a link of its own
/// rank; then the optimizer, which waits for all.
EqualRanks rank_of(std::vector<int> ranks, const std::vector<std::int64_t>& layers,
                   CollectiveKind kind = CollectiveKind::kAllReduce) {
  EqualRanks one{std::move(ranks), {}, {}};
  Graph& graph = one.graph;
  graph.names = {"", "layer"};
  graph.lines = {{}};
  graph.modules = {""};
  graph.operations = {{}};
  graph.resources = {{"thread 0", step::Resource::Type::kHost}, {"gloo", step::Resource::Type::kLink}};
  const auto add = [&](std::uint16_t resource, std::int64_t ns, std::uint32_t line) {
    Task task;
    task.resource = resource;
    task.duration_ns = ns;
    task.line = line;
    graph.tasks.push_back(task);
    return static_cast<TaskId>(graph.tasks.size() - 1);
  };
  TaskId before = step::kNoTask;
  TaskId sent = step::kNoTask;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    graph.lines.push_back({"train.py", static_cast<std::uint32_t>(layer) + 1});
    const TaskId work = add(0, layers[layer], static_cast<std::uint32_t>(layer) + 1);
    graph.memory.push_back({work, 0, 1000});
    if (before != step::kNoTask) {
      graph.tasks[before].next = work;
    }
    before = work;
    const TaskId call = add(1, 77, 0);
    if (sent != step::kNoTask) {
      graph.tasks[sent].next = call;
    }
    sent = call;
    graph.dependencies.push_back({work, call, 0});
    one.calls.push_back({call, kind, layer, 1e6 * (1 + static_cast<double>(layer)), static_cast<int>(layer)});
  }
  graph.end = add(0, 5'000, 0);
  graph.tasks[before].next = graph.end;
  graph.dependencies.push_back({sent, graph.end, 0});
  return one;
}

std::int64_t total(const std::vector<EqualRanks>& ranks, const Network& network, Joining joining) {
  const auto job = join(ranks, network, joining);
  EXPECT_TRUE(job) << job.error().message();
  const auto schedule = step::simulate(job->graph);
  EXPECT_TRUE(schedule) << schedule.error().message();
  return schedule->total_ns;
}

/// The rules of DDP without a graph: a collective begins when its last rank is there and the one before it is over.
double truth(const std::vector<EqualRanks>& ranks, std::uint32_t world, Algorithm algorithm) {
  std::vector<double> now(ranks.size());
  double over = 0;
  for (std::size_t place = 0; place < ranks.front().calls.size(); ++place) {
    double begin = over;
    for (std::size_t part = 0; part < ranks.size(); ++part) {
      now[part] += static_cast<double>(ranks[part].graph.tasks[2 * place].duration_ns);
      begin = std::max(begin, now[part]);
    }
    const Call& call = ranks.front().calls[place];
    over = begin + cost_ns(call.kind, algorithm, world, call.bytes, kLink);
  }
  return std::max(over, *std::ranges::max_element(now)) + 5'000;
}

std::vector<std::int64_t> layers_of(std::mt19937& random, std::size_t count) {
  std::vector<std::int64_t> layers(count);
  for (std::int64_t& layer : layers) {
    layer = std::uniform_int_distribution<std::int64_t>(100'000, 4'000'000)(random);
  }
  return layers;
}

TEST(JobGraph, ReplaysGeneratedJobsOfUnequalRanks) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const int world = std::uniform_int_distribution(2, 7)(random);
    std::vector<EqualRanks> ranks;
    for (int rank = 0; rank < world; ++rank) {
      ranks.push_back(rank_of({rank}, layers_of(random, 6)));
    }
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kTree}) {
      const double expected = truth(ranks, static_cast<std::uint32_t>(world), algorithm);
      EXPECT_NEAR(static_cast<double>(total(ranks, network(algorithm), Joining::kWhole)), expected, 10);
    }
  }
}

TEST(JobGraph, MessagesBetweenEqualRanksTakeWhatTheFormulaSays) {
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                                    CollectiveKind::kAllGather, CollectiveKind::kBroadcast, CollectiveKind::kBarrier}) {
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kTree}) {
      for (int world = 1; world <= 9; ++world) {
        std::vector<EqualRanks> single;
        std::vector<int> all;
        for (int rank = 0; rank < world; ++rank) {
          single.push_back(rank_of({rank}, {3'000'000}, kind));
          all.push_back(rank);
        }
        const auto messages = total(single, network(algorithm), Joining::kMessages);
        const auto whole = total({rank_of(all, {3'000'000}, kind)}, network(algorithm), Joining::kWhole);
        EXPECT_NEAR(static_cast<double>(messages), static_cast<double>(whole), 20)
            << static_cast<int>(kind) << ", " << world << " ranks";
      }
    }
  }
}

TEST(JobGraph, RanksOfOneMachineShareItsLink) {
  std::vector<EqualRanks> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(rank_of({rank}, {1'000}));
  }
  const auto one_machine = total(ranks, network(Algorithm::kRing, 4), Joining::kMessages);
  const auto apart = total(ranks, network(Algorithm::kRing), Joining::kMessages);
  // Six rounds of four messages of 250 kB each over one link that all share.
  EXPECT_NEAR(static_cast<double>(one_machine - apart), 6 * 3 * 250e3 / 1.25, 20);
}

TEST(JobGraph, EqualRanksCostAboutTheSameWhateverTheirNumber) {
  std::mt19937 random(5);
  const auto layers = layers_of(random, 161);
  std::size_t tasks = 0;
  for (const int world : {1, 8, 1'024, 100'000}) {
    std::vector<int> all(static_cast<std::size_t>(world));
    std::iota(all.begin(), all.end(), 0);
    const std::vector<EqualRanks> ranks = {rank_of(all, layers)};
    const auto job = join(ranks, network(Algorithm::kRing), Joining::kWhole);
    ASSERT_TRUE(job);
    if (tasks == 0) {
      tasks = job->graph.tasks.size();
    }
    EXPECT_EQ(job->graph.tasks.size(), tasks);
    const auto schedule = step::simulate(job->graph);
    ASSERT_TRUE(schedule);
    EXPECT_NEAR(static_cast<double>(schedule->total_ns),
                truth(ranks, static_cast<std::uint32_t>(world), Algorithm::kRing), 200);
  }
}

TEST(JobGraph, ASlowRankAmongManyEqualOnesIsOnePartMore) {
  std::vector<int> others(1'023);
  std::iota(others.begin(), others.end(), 1);
  const std::vector<EqualRanks> ranks = {rank_of({0}, {100'000, 9'000'000, 100'000}),
                                         rank_of(others, {100'000, 2'000'000, 100'000})};
  const auto job = join(ranks, network(Algorithm::kTree), Joining::kWhole);
  ASSERT_TRUE(job);
  const auto schedule = step::simulate(job->graph);
  ASSERT_TRUE(schedule);
  EXPECT_NEAR(static_cast<double>(schedule->total_ns), truth(ranks, 1'024, Algorithm::kTree), 10);
}

TEST(JobGraph, NamesTheStragglerAndItsLine) {
  const std::vector<EqualRanks> ranks = {rank_of({0}, {1'000'000, 2'000'000}), rank_of({1}, {1'000'000, 2'000'000}),
                                         rank_of({2}, {1'000'000, 9'000'000})};
  const auto job = join(ranks, network(Algorithm::kRing), Joining::kWhole);
  ASSERT_TRUE(job);
  const auto schedule = step::simulate(job->graph);
  ASSERT_TRUE(schedule);
  const auto late = late_ranks(*job, *schedule);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(job->parts[late[0].part].ranks.front(), 2);
  EXPECT_EQ(job->graph.lines[late[0].line].line, 2U);
  EXPECT_EQ(late[0].excess_ns, 7'000'000);
  EXPECT_GT(late[0].late_ns, 0);

  const auto shares = critical_shares(*job, *schedule);
  std::int64_t sum = 0;
  for (const PathShare& share : shares) {
    sum += share.ns;
  }
  EXPECT_EQ(sum, schedule->total_ns);
  EXPECT_EQ(shares.front().part, 2);
  EXPECT_EQ(shares.front().ns, 9'000'000);
  const auto sent = std::ranges::find(shares, 1, &PathShare::collective);
  ASSERT_NE(sent, shares.end());
  EXPECT_EQ(sent->ns, std::llround(cost_ns(CollectiveKind::kAllReduce, Algorithm::kRing, 3, 2e6, kLink)));
}

TEST(JobGraph, EqualRanksHaveNoStraggler) {
  const auto job = join({rank_of({0}, {5'000}), rank_of({1}, {5'000})}, network(Algorithm::kRing), Joining::kWhole);
  ASSERT_TRUE(job);
  EXPECT_TRUE(late_ranks(*job, *step::simulate(job->graph)).empty());
}

TEST(JobGraph, MemoryIsThatOfTheRank) {
  const std::vector<EqualRanks> ranks = {rank_of({0}, {5'000, 5'000}), rank_of({1}, {5'000, 6'000, 7'000})};
  auto equal = ranks;
  equal[1].calls.pop_back();
  const auto job = join(equal, network(Algorithm::kRing), Joining::kWhole);
  ASSERT_TRUE(job) << job.error().message();
  const auto schedule = step::simulate(job->graph);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(memory_peak(*job, 0, *schedule).bytes, 2'000);
  EXPECT_EQ(memory_peak(*job, 1, *schedule).bytes, 3'000);
}

TEST(JobGraph, RefusesWhatDoesNotFitTogether) {
  const auto refused = [](const std::vector<EqualRanks>& ranks, Joining joining = Joining::kWhole) {
    const auto job = join(ranks, network(Algorithm::kRing), joining);
    return job ? std::string() : job.error().message();
  };
  EXPECT_THAT(refused({}), HasSubstr("without ranks"));
  EXPECT_THAT(refused({rank_of({0}, {1}), rank_of({0}, {1})}), HasSubstr("rank 0 is there twice"));
  EXPECT_THAT(refused({rank_of({0}, {1}), rank_of({1}, {1, 2})}), HasSubstr("is none of rank 0"));
  EXPECT_THAT(refused({rank_of({0}, {1, 2}), rank_of({1}, {1})}), HasSubstr("calls 1 collectives"));
  EXPECT_THAT(refused({rank_of({0}, {1}, CollectiveKind::kAllToAll)}), HasSubstr("not modelled"));
  EXPECT_THAT(refused({rank_of({0, 1}, {1})}, Joining::kMessages), HasSubstr("one by one"));
}

}  // namespace
}  // namespace ridgeline::jobs
