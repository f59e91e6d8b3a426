// Jobs predicted from the graph of one process, against what follows by hand.
#include "jobs/predict/predict_job.h"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>

#include "jobs/predict/sharded_collectives.h"

namespace ridgeline::jobs {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kMiB = std::uint64_t{1024} * 1024;

/// Forward of 10 ms, backward of `layers` times 4 ms, each with a gradient, and an optimizer of 2 ms.
struct Step {
  step::Graph graph;
  protocol::Replica replica;

  Step(int layers, std::uint64_t bytes) {
    graph.names = {"", "torch::autograd::AccumulateGrad"};
    graph.lines = {{}, {"train.py", 7}};
    graph.modules = {""};
    graph.operations = {{}};
    graph.resources = {{"thread 0", step::Resource::Type::kHost}};
    add(0, analysis::Phase::kOther);
    add(10 * kMs, analysis::Phase::kForward);
    for (int layer = 0; layer < layers; ++layer) {
      graph.operations.push_back({1, 0});
      add(4 * kMs, analysis::Phase::kBackward).operation = static_cast<std::uint32_t>(layer) + 1;
      replica.gradients.push_back({"p" + std::to_string(layer), bytes, "float32"});
    }
    add(2 * kMs, analysis::Phase::kOptimizer);
    graph.end = static_cast<step::TaskId>(graph.tasks.size()) - 1;
    graph.tasks.back().next = step::kNoTask;
  }

  step::Task& add(std::int64_t ns, analysis::Phase phase) {
    step::Task task;
    task.duration_ns = ns;
    task.phase = phase;
    task.line = 1;
    task.next = static_cast<step::TaskId>(graph.tasks.size()) + 1;
    graph.tasks.push_back(task);
    return graph.tasks.back();
  }

  double ms() const {
    double sum = 0;
    for (const step::Task& task : graph.tasks) {
      sum += static_cast<double>(task.duration_ns) / 1e6;
    }
    return sum;
  }
};

/// Two ranks; 1 MiB takes `ms` milliseconds, of which a core works `core`.
Cluster two_ranks(double ms, double core, int cores = 2) {
  Cluster cluster;
  cluster.machines = {{"a", 1, 2, cores}};
  cluster.placement = {{0, 2}};
  cluster.measured_ranks = 2;
  for (const double kib : {1.0, 1024.0}) {
    const double ns = ms * 1e6 * kib / 1024;
    cluster.measured.push_back({kib * 1024, {ns, ns, ns}, core * 1e6 * kib / 1024});
  }
  return cluster;
}

base::Result<analysis::JobPrediction> predicted(const Step& step, const Cluster& cluster,
                                                const std::vector<TrainingRequest>& requests) {
  const double ms = step.ms();
  return predict_job({step.graph, step.replica, {ms, ms, ms}, 100 * kMiB, 8, 1, true}, cluster, requests);
}

double step_ms(const Step& step, const Cluster& cluster, const TrainingRequest& request) {
  const auto job = predicted(step, cluster, {request});
  EXPECT_TRUE(job) << (job ? "" : job.error().message());
  return job->trainings.front().step_ms.value;
}

TEST(PredictJob, HidesWhatBackwardIsLongEnoughFor) {
  const Step step(4, kMiB);
  // Buckets of one gradient: each all-reduce of 3 ms is over before the next, and the last one is exposed.
  EXPECT_NEAR(step_ms(step, two_ranks(3, 0), {kMiB, true}), 10 + 16 + 3 + 2, 1e-3);
  EXPECT_NEAR(step_ms(step, two_ranks(3, 0), {kMiB, false}), 10 + 16 + 12 + 2, 1e-3);
  EXPECT_NEAR(step_ms(step, two_ranks(3, 0), {25 * kMiB, true}), 10 + 16 + 12 + 2, 1e-3);
}

TEST(PredictJob, BeginsABucketBeforeTheOneBeforeItIsOver) {
  const Step step(4, kMiB);
  Cluster cluster = two_ranks(3, 0);
  // Each of four at once takes 2 ms of the link, and 1 ms more until it is over.
  for (AllReduceTime& time : cluster.measured) {
    const double ns = 8 * time.ns.value / 3;
    time.four_ns = analysis::Measured{ns, ns, ns};
  }
  EXPECT_NEAR(step_ms(step, cluster, {kMiB, false}), 10 + 16 + 4 * 2 + 1 + 2, 1e-3);
  const auto job = predicted(step, cluster, {{kMiB, false}});
  ASSERT_TRUE(job);
  const analysis::PredictedTraining& training = job->trainings.front();
  EXPECT_NEAR(training.buckets[1].start_ms, 10 + 16 + 2, 1e-3);
  EXPECT_NEAR(training.buckets[0].end_ms, 10 + 16 + 3, 1e-3);
  EXPECT_NEAR(training.exposed_ms, 9, 1e-3) << "each bucket's share of the link, and the end of the last one";
  EXPECT_NEAR(training.communication_ms, 9, 1e-3);
}

TEST(PredictJob, TakesTheProcessorsTimeFromTheCoreThatComputes) {
  const Step step(4, kMiB);
  // 1 ms of each all-reduce on the core: three in backward, which is longer by so much; the last one while it waits.
  EXPECT_NEAR(step_ms(step, two_ranks(3, 1), {kMiB, true}), 10 + 16 + 3 + 3 + 2, 1e-3);
  EXPECT_NEAR(step_ms(step, two_ranks(3, 1, 4), {kMiB, true}), 10 + 16 + 3 + 2, 1e-3) << "there are cores to spare";
}

TEST(PredictJob, CollectivesMayTakeAFifthOfADevice) {
  const Step step(4, kMiB);
  const double ms = step.ms();
  const auto training = [&](bool on_host) {
    const auto job = predict_job({step.graph, step.replica, {ms, ms, ms}, 100 * kMiB, 8, 1, on_host}, two_ranks(3, 0),
                                 {{kMiB, true}});
    EXPECT_TRUE(job) << (job ? "" : job.error().message());
    return job->trainings.front();
  };
  EXPECT_NEAR(training(false).step_ms.value, training(true).step_ms.value, 1e-3);
  EXPECT_NEAR(training(false).step_ms.high - training(true).step_ms.high, 0.2 * 9, 1e-3) << "three of four are hidden";
}

TEST(PredictJob, NamesBucketsLinesAndMemory) {
  const Step step(3, kMiB);
  const auto job = predicted(step, two_ranks(3, 0), {{2 * kMiB, true}});
  ASSERT_TRUE(job);
  const analysis::PredictedTraining& training = job->trainings.front();
  ASSERT_THAT(training.buckets, SizeIs(2));
  EXPECT_EQ(training.buckets[0].bytes, 2 * kMiB);
  EXPECT_EQ(training.buckets[0].last, "p1");
  EXPECT_EQ(training.buckets[0].line.line, 7U);
  EXPECT_NEAR(training.buckets[0].ready_ms, 18, 1e-6);
  EXPECT_NEAR(training.buckets[0].exposed_ms, 2, 1e-6) << "of 6 ms, 4 are hidden";
  EXPECT_NEAR(training.exposed_ms, 5, 1e-6);
  EXPECT_EQ(training.peak_bytes, 103 * kMiB);
  EXPECT_EQ(job->ranks, 2);
  EXPECT_LT(training.step_ms.low, training.step_ms.value);
  EXPECT_GT(training.step_ms.high, training.step_ms.value);
}

TEST(PredictJob, WaitsForTheSlowestCopyOnAMachine) {
  Step step(2, kMiB);
  step.replica.alone_ns = {20e6, 20e6, 20e6, 20e6, 20e6};
  step.replica.together_ns = {{20e6, 20e6, 20e6, 20e6, 20e6}, {25e6, 25e6, 25e6, 25e6, 25e6}};
  EXPECT_NEAR(step_ms(step, two_ranks(1e-6, 0), {kMiB, true}), 1.25 * 20, 0.01);
}

TEST(PredictJob, BroadcastsBuffersBeforeForward) {
  Step step(1, kMiB);
  step.replica.buffers = {{"float32", kMiB}};
  // A broadcast between two ranks is one step: half of the two that an all-reduce of twice the bytes takes.
  EXPECT_NEAR(step_ms(step, two_ranks(3, 0), {kMiB, true}), 10 + 4 + 3 + 2 + 3, 1e-2);
}

/// Four modules, each with one tensor.
Step of_modules() {
  Step step(4, kMiB);
  for (std::size_t i = 0; i < 4; ++i) {
    step.replica.gradients[i].name = std::to_string(i) + ".weight";
  }
  return step;
}

TEST(PredictJob, ShardsOnDevicesWhatTheStageOfZeroSays) {
  Step step = of_modules();
  step.graph.resources.push_back({"device 0", step::Resource::Type::kDevice});
  step::Task kernel;
  kernel.duration_ns = 10 * kMs;
  kernel.phase = analysis::Phase::kForward;
  kernel.resource = 1;
  step.graph.tasks.push_back(kernel);
  const auto training = [&](int stage) {
    const double ms = 28;
    const auto job = predict_job({step.graph, step.replica, {ms, ms, ms}, 100 * kMiB, 8, 1, false}, two_ranks(3, 0),
                                 {{kMiB, true, stage}});
    EXPECT_TRUE(job) << (job ? "" : job.error().message());
    EXPECT_THAT(job->not_modelled, ::testing::Contains(HasSubstr("units of FSDP")));
    return job->trainings.front();
  };
  // Half of the optimizer's 2 ms, and all weights are broadcast behind it: between two ranks, as an all-reduce of 4
  // MiB.
  EXPECT_NEAR(training(1).step_ms.value, 10 + 16 + 3 + 1 + 12, 1e-2);
  // The last bucket is only scattered, and half of an all-reduce gathers.
  EXPECT_NEAR(training(2).step_ms.value, 10 + 16 + 1.5 + 1 + 6, 1e-2);
  // The first of four units is gathered before forward, the others meanwhile; and each once more in backward.
  const analysis::PredictedTraining third = training(3);
  EXPECT_NEAR(third.step_ms.value, 10 + 16 + 3 + 1 + 1.5, 1e-2);
  EXPECT_NEAR(third.gathers_ms, 12, 1e-6);
  EXPECT_NEAR(third.communication_ms, 18, 1e-2) << "gathered twice, scattered once";
  EXPECT_GE(third.step_ms.high, 10 + 16 + 3 + 2 + 6) << "nothing of forward's gathers may be hidden";
  EXPECT_EQ(third.peak_bytes, std::nullopt) << "its memory over time is not known";
}

TEST(PredictJob, ShardsOnHostsAsGlooAndFsdpDo) {
  const Step step = of_modules();
  const auto ms = [&](int stage) { return step_ms(step, two_ranks(3, 0), {kMiB, true, stage}); };
  // Each tensor is broadcast by its owner.
  EXPECT_NEAR(ms(1), 10 + 16 + 3 + 1 + 12, 1e-2);
  // Nothing is hidden: a reduce-scatter takes what an all-reduce takes, and a gather more than half of it.
  EXPECT_NEAR(ms(2), 10 + 16 + 1 + 12 * (kGlooScatter.middle + kGlooGather.middle), 1e-2);
  EXPECT_NEAR(ms(3), 10 + 16 + 1 + 12 * (kGlooScatter.middle + 2 * kGlooGather.middle), 1e-2);
  const auto job = predicted(step, two_ranks(3, 0), {{kMiB, true, 3}});
  ASSERT_TRUE(job);
  const analysis::PredictedTraining& training = job->trainings.front();
  EXPECT_NEAR(training.gathers_ms, 2 * 12 * kGlooGather.middle, 1e-6);
  EXPECT_NEAR(training.communication_ms, training.step_ms.value - 27, 1e-2);
  EXPECT_NEAR(training.exposed_ms, training.communication_ms, 1e-2);
}

TEST(PredictJob, AUnitHasAllWeightsOfAModule) {
  Step step = of_modules();
  step.replica.gradients[1].name = "0.bias";
  const auto job = predicted(step, two_ranks(3, 0), {{1024, true, 2}});
  ASSERT_TRUE(job);
  const auto& buckets = job->trainings.front().buckets;
  ASSERT_THAT(buckets, SizeIs(3));
  EXPECT_EQ(buckets.front().gradients, 2U);
  EXPECT_EQ(buckets.front().bytes, 2 * kMiB);
}

TEST(PredictJob, SaysWhyItCannot) {
  Step step(2, kMiB);
  step.replica.gradients[1].name = "p0";
  EXPECT_THAT(predicted(step, two_ranks(1, 0), {{}}).error().message(), HasSubstr("backward several times for p0"));
  step.replica.gradients.pop_back();
  EXPECT_THAT(predicted(step, two_ranks(1, 0), {{}}).error().message(), HasSubstr("shows 2 accumulations"));
  const Step fine(2, kMiB);
  EXPECT_THAT(predicted(fine, two_ranks(1, 0, 1), {{}}).error().message(), HasSubstr("has 1 cores for 2 ranks"));
}

TEST(PredictJob, TakesTurnsOnCoresAsCopiesOfTheStepDid) {
  Step step(2, kMiB);
  const double ms = step.ms();
  const Cluster cluster = two_ranks(1, 0, 1);
  step.replica.alone_ns.assign(20, ms * 1e6);
  step.replica.together_ns.assign(2, std::vector<double>(20, 2 * ms * 1e6));
  OneProcess process{step.graph, step.replica, {ms, ms, ms}, 100 * kMiB, 8, 1, true};
  EXPECT_FALSE(predict_job(process, cluster, {{}})) << "the copies ran on another number of cores";
  process.cores = 1;
  const auto job = predict_job(process, cluster, {{}});
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_NEAR(job->trainings.front().compute_ms, 2 * ms, 1e-6);
  EXPECT_THAT(job->not_modelled, Contains(HasSubstr("take turns on cores")));
  process.threads = 2;
  EXPECT_FALSE(predict_job(process, cluster, {{}})) << "two threads of a rank, which wait for each other";
}

/// As many tasks and gradients as a step of ResNet-50.
TEST(PredictJob, CostsTheSameForAnyNumberOfEqualRanks) {
  Step step(161, 634'804);
  step.replica.gradients.front().bytes = 600'000;
  for (const int machines : {1, 8, 1'024, 100'000}) {
    Cluster cluster;
    cluster.machines = {{"a", machines, 1, {}}};
    cluster.between = Link{5'000, 12.5};
    cluster.placement = {{0, machines}};
    const auto start = std::chrono::steady_clock::now();
    const auto job = predicted(step, cluster, {{}});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(job) << job.error().message();
    EXPECT_EQ(job->ranks, machines);
    EXPECT_LT(took.count(), 2);
    RecordProperty("seconds_of_" + std::to_string(machines), std::to_string(took.count()));
  }
}

}  // namespace
}  // namespace ridgeline::jobs
