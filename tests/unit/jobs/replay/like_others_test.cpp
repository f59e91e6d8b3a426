#include "jobs/replay/like_others.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ridgeline::jobs {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kWorkMs = 1'000'000;
constexpr int kStragglerSteps = 8;

/// In each step, work at train.py:7 and an all-reduce of that many bytes.
void add_straggling_rank(RecordedJob& job, std::int64_t work_ns, double bytes = 100) {
  EqualRanks rank{.ranks = {static_cast<int>(job.ranks.size())}};
  rank.graph.names = {"", "aten::mm", "all-reduce"};
  rank.graph.lines = {{}, {"train.py", 7}};
  rank.graph.modules = {""};
  rank.graph.resources = {{"thread 0"}, {"free"}};
  std::vector<step::TaskId> ends;
  for (int step = 0; step < kStragglerSteps; ++step) {
    rank.graph.tasks.push_back({.duration_ns = work_ns, .name = 1, .line = 1});
    rank.graph.tasks.push_back({.duration_ns = 5 * kWorkMs, .name = 2, .resource = 1});
    ends.push_back(static_cast<step::TaskId>(rank.graph.tasks.size() - 1));
    rank.calls.push_back({.task = ends.back(), .bytes = bytes});
  }
  job.ranks.push_back(rank);
  job.step_ends.push_back(ends);
}

RecordedJob with_a_straggler() {
  RecordedJob job;
  for (int step = 0; step < kStragglerSteps; ++step) {
    job.steps.push_back(step);
  }
  for (const std::int64_t ms : {10, 11, 12, 20}) {
    add_straggling_rank(job, ms * kWorkMs);
  }
  return job;
}

std::int64_t work_of(const RecordedJob& job, std::size_t rank) { return job.ranks[rank].graph.tasks[2].duration_ns; }

TEST(LikeOthers, ARankTakesWhatTheOthersTake) {
  const auto job = with_rank_like_others(with_a_straggler(), 3);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(work_of(*job, 3), 11 * kWorkMs);
  EXPECT_EQ(work_of(*job, 2), 12 * kWorkMs);
  EXPECT_EQ(job->ranks[3].graph.tasks[3].duration_ns, 5 * kWorkMs) << "an all-reduce is no work";
  EXPECT_THAT(with_rank_like_others(with_a_straggler(), 4).error().message(), HasSubstr("no rank 4"));
}

TEST(LikeOthers, EveryRankTakesTheMedian) {
  const auto job = with_ranks_like_median(with_a_straggler());
  ASSERT_TRUE(job) << job.error().message();
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(work_of(*job, rank), 23 * kWorkMs / 2);
  }
}

TEST(LikeOthers, OnlyRanksThatDoTheSameAreCompared) {
  RecordedJob job = with_a_straggler();
  add_straggling_rank(job, 90 * kWorkMs, 500);  // another stage
  EXPECT_EQ(work_of(*with_ranks_like_median(job), 4), 90 * kWorkMs);
  EXPECT_THAT(with_rank_like_others(job, 4).error().message(), HasSubstr("no other rank"));
  ASSERT_TRUE(slowest_rank(job).has_value());
  EXPECT_EQ(slowest_rank(job)->rank, 3);
}

TEST(LikeOthers, NamesTheRankThatIsClearlySlower) {
  const auto slowest = slowest_rank(with_a_straggler());
  ASSERT_TRUE(slowest.has_value());
  EXPECT_EQ(slowest->rank, 3);
  EXPECT_NEAR(slowest->slower, 20.0 / 11 - 1, 1e-9);
  RecordedJob alike = with_a_straggler();
  for (step::Task& task : alike.ranks[3].graph.tasks) {
    task.duration_ns = 11 * kWorkMs;
  }
  alike.ranks[2].graph = alike.ranks[1].graph;
  EXPECT_FALSE(slowest_rank(alike).has_value());
}

}  // namespace
}  // namespace ridgeline::jobs
