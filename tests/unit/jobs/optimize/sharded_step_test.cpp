// Sharding, and changes that the user wrote, on the graph of a recorded job.
#include "jobs/optimize/sharded_step.h"

#include <gmock/gmock.h>

#include "jobs/optimize/own_change.h"
#include "jobs/predict/sharded_collectives.h"
#include "tests/unit/jobs/replay/recorded_ddp.h"

namespace ridgeline::jobs {
namespace {

using step::Bound;
using testing::DdpJob;
using ::testing::HasSubstr;

/// Steps of 795 us: buckets of 1 and 4 kB after 200 and 300 us, which take 20 and 50; then the optimizer, 440 us.
RecordedJob job_of_795_us() { return *DdpJob({{200, 300}, {1000, 4000}, {1, 1}}).made(); }

/// The time of the second step, which begins with what the first one ended with.
std::int64_t step_us(const base::Result<RecordedJob>& job) {
  EXPECT_TRUE(job) << job.error().message();
  const auto replayed = replay(*job);
  EXPECT_TRUE(replayed);
  return (replayed->step_ns[1][1] + 500) / 1000;
}

TEST(ShardedStep, TheOptimizerTakesTheLargestShareAndWeightsAreGathered) {
  const RecordedJob job = job_of_795_us();
  ASSERT_EQ(step_us(job), 795);
  EXPECT_DOUBLE_EQ(optimizer_share(job, 1), 0.8) << "the larger tensor goes to one rank";
  EXPECT_DOUBLE_EQ(optimizer_share(job, 2), 0.5);
  // 0.8 of 440 us. An all-reduce takes 10 us and 10 us for a kB: between two ranks a broadcast takes half of the 10 us,
  // and as long for a kB; of two tensors, one waits for the other's end.
  EXPECT_EQ(step_us(with_sharding(job, 1, Bound::kMiddle)), 355 + 352 + 5 + 50);
  // All of the optimizer, and both tensors with a latency of their own.
  EXPECT_EQ(step_us(with_sharding(job, 1, Bound::kPessimistic)), 355 + 440 + 10 + 50);
}

TEST(ShardedStep, GloosRanksWaitForStage2) {
  // Both buckets are scattered behind backward, which ends at 305 us, and two units are gathered.
  const double scattered = kGlooScatter.middle * (20 + 50);
  const double gathered = kGlooGather.middle * (2 * 10 + 50);
  EXPECT_NEAR(static_cast<double>(step_us(with_sharding(job_of_795_us(), 2, Bound::kMiddle))),
              305 + scattered + 220 + gathered, 1);
}

TEST(ShardedStep, Stage2SendsHalfOnDevices) {
  RecordedJob job = job_of_795_us();
  for (EqualRanks& rank : job.ranks) {
    rank.graph.resources.push_back({"device 0", step::Resource::Type::kDevice});
  }
  // The last bucket takes 25 us in place of 50, and the weights half of an all-reduce.
  EXPECT_EQ(step_us(with_sharding(job, 2, Bound::kMiddle)), 355 - 25 + 220 + 30);
}

TEST(ShardedStep, NeedsAnOptimizer) {
  RecordedJob job = job_of_795_us();
  for (step::Task& task : job.ranks[1].graph.tasks) {
    task.phase = analysis::Phase::kForward;
  }
  const auto refused = with_sharding(job, 1, Bound::kMiddle);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("rank 1 has no optimizer"));
}

base::Result<RecordedJob> with(const std::string& steps, Bound bound = Bound::kMiddle) {
  const auto change = step::parse_change(R"({"title": "mine", "steps": [)" + steps + "]}");
  EXPECT_TRUE(change) << change.error().message();
  return with_own_change(job_of_795_us(), {*change, *change}, bound);
}

TEST(OwnChange, IsMadeOfEachRanksGraph) {
  const char* const half = R"({"select": {"phase": "optimizer"}, "do": "scale", "factor": [0.75, 0.5, 0.25]})";
  EXPECT_EQ(step_us(with(half)), 355 + 220);
  EXPECT_EQ(step_us(with(half, Bound::kPessimistic)), 355 + 330);
  EXPECT_EQ(step_us(with(half, Bound::kOptimistic)), 355 + 110);
  EXPECT_EQ(step_us(with(R"({"select": {"name": "aten::add"}, "do": "insert", "name": "mine", "microseconds": 100})")),
            795 + 100);
}

TEST(OwnChange, ScalesAndSetsWhatCollectivesTake) {
  const char* const communication = R"("select": {"kind": "communication"})";
  EXPECT_EQ(step_us(with("{" + std::string(communication) + R"(, "do": "scale", "factor": 0.5})")), 795 - 25);
  EXPECT_EQ(step_us(with("{" + std::string(communication) + R"(, "do": "set", "microseconds": 80})")), 795 + 30);
}

TEST(OwnChange, SaysWhatItCannotDo) {
  const auto refused = [](const std::string& steps) {
    const auto changed = with(steps);
    return changed ? std::string() : changed.error().message();
  };
  EXPECT_THAT(refused(R"({"select": {"name": "conv"}, "do": "remove"})"),
              HasSubstr("mine: rank 0: /steps/0: it selects nothing"));
  EXPECT_THAT(refused(R"({"select": {"name": "aten::mm"}, "do": "move", "to": "link:network"})"),
              HasSubstr("stay where they ran"));
}

}  // namespace
}  // namespace ridgeline::jobs
