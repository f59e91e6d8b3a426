// Figures of ranks side by side, and which one the others wait for.
#include "jobs/record/rank_figures.h"

#include <gtest/gtest.h>

namespace ridgeline::jobs {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Steps of 10 ms in which a rank calls an all-reduce after `own_ms`, and waits until both ranks have called it and 1
/// ms more. The transfer takes 1 ms, of which nothing is hidden.
RankRecord rank_of(int rank, double own_ms, double other_ms, int steps = 8, const std::string& host = "host") {
  RankRecord record{rank, 2, host, {{"0", "gloo", {0, 1}}}};
  for (int i = 0; i < steps; ++i) {
    const std::int64_t start = (1000 + std::int64_t{10} * i) * kMs;
    const auto after = [&](double ms) { return start + static_cast<std::int64_t>(ms * static_cast<double>(kMs)); };
    record.iterations.push_back({100 + i, start, after(std::max(own_ms, other_ms) + 1)});
    Collective one;
    one.kind = CollectiveKind::kAllReduce;
    one.sequence = static_cast<std::uint64_t>(i);
    one.called_ns = after(own_ms);
    one.started_ns = after(own_ms);
    one.ended_ns = after(std::max(own_ms, other_ms) + 1);
    one.waited_ns = one.ended_ns - one.called_ns;
    one.iteration = static_cast<std::uint32_t>(i);
    one.file = "/project/train.py";
    one.line = 22;
    record.collectives.push_back(one);
  }
  return record;
}

std::vector<RankRecord> pair(double first_ms, double second_ms, int steps = 8) {
  return {rank_of(0, first_ms, second_ms, steps), rank_of(1, second_ms, first_ms, steps)};
}

TEST(RankFigures, SplitAStepIntoOwnWorkAndWaiting) {
  const auto figures = rank_figures(pair(4, 6));
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_NEAR(figures[0].step_ms, 7, 1e-9);
  EXPECT_NEAR(figures[0].exposed_ms, 3, 1e-9);
  EXPECT_NEAR(figures[0].own_ms(), 4, 1e-9);
  EXPECT_NEAR(*figures[0].waiting_ms, 2, 1e-9) << "until rank 1 calls it";
  EXPECT_NEAR(*figures[1].waiting_ms, 0, 1e-9);
  EXPECT_NEAR(figures[1].exposed_ms, 1, 1e-9);
}

TEST(RankFigures, ARankWaitsForTheOtherOneAndThenForTheNetwork) {
  auto ranks = pair(4, 6);
  for (Collective& one : ranks[0].collectives) {
    one.started_ns -= kMs;  // as though it ran before it was waited for
  }
  const auto activities = rank_activity(ranks);
  ASSERT_EQ(activities.size(), 2U);
  const RankActivity& first = activities[0];
  ASSERT_EQ(first.steps.size(), 8U);
  const std::int64_t start = first.steps[0].begin;
  const auto is = [&](const Span& span, std::int64_t begin_ms, std::int64_t end_ms) {
    EXPECT_EQ(span.begin - start, begin_ms * kMs);
    EXPECT_EQ(span.end - start, end_ms * kMs);
  };
  is(first.hidden[0], 3, 4);
  is(first.waiting[0], 4, 6);
  is(first.network[0], 6, 7);
  EXPECT_TRUE(activities[1].waiting.empty());
  is(activities[1].network[0], 6, 7);
  const auto apart = rank_activity({rank_of(0, 4, 6), rank_of(1, 6, 4, 8, "another")});
  EXPECT_TRUE(apart[0].waiting.empty()) << "their clocks differ";
  is(apart[0].network[0], 4, 7);
}

TEST(RankFigures, CountRunningCollectivesThatNobodyWaitsForAsHidden) {
  auto ranks = pair(4, 4);
  for (RankRecord& rank : ranks) {
    for (Collective& one : rank.collectives) {
      one.waited_ns = kMs / 4;
    }
  }
  const auto figures = rank_figures(ranks);
  EXPECT_NEAR(figures[0].exposed_ms, 0.25, 1e-9);
  EXPECT_NEAR(figures[0].hidden_ms, 0.75, 1e-9);
}

TEST(RankFigures, DoNotClaimWaitingAcrossMachines) {
  const auto figures = rank_figures({rank_of(0, 4, 6), rank_of(1, 6, 4, 8, "another")});
  EXPECT_FALSE(figures[0].waiting_ms.has_value());
}

TEST(RankFigures, DoNotClaimWaitingForARankThatWasNotRecorded) {
  EXPECT_FALSE(rank_figures({rank_of(0, 4, 6)})[0].waiting_ms.has_value());
}

TEST(RankFigures, AStepThatOneRankRecordedAloneHidesNoWaitOfTheOthers) {
  const std::vector<RankRecord> ranks{rank_of(0, 4, 6, 9), rank_of(1, 6, 4, 8)};
  const auto figures = rank_figures(ranks);
  ASSERT_EQ(figures.size(), 2U);
  ASSERT_TRUE(figures[0].waiting_ms.has_value());
  EXPECT_NEAR(*figures[0].waiting_ms, 2, 1e-9);
  const auto lines = line_communication(ranks);
  ASSERT_TRUE(lines[0][0].waiting_ms.has_value());
  EXPECT_NEAR(*lines[0][0].waiting_ms, 2, 1e-9);
}

TEST(RankFigures, AreOfTheCommonSteps) {
  auto ranks = pair(4, 6);
  ranks[1].iterations.erase(ranks[1].iterations.begin());
  for (Collective& one : ranks[1].collectives) {
    one.iteration = one.iteration > 0 ? one.iteration - 1 : 0;
  }
  EXPECT_NEAR(rank_figures(ranks)[0].step_ms, 7, 1e-9);
  for (Iteration& one : ranks[1].iterations) {
    one.step += 1000;
  }
  EXPECT_TRUE(rank_figures(ranks).empty());
}

TEST(LineCommunication, IsOfTheLinesThatCall) {
  const auto lines = line_communication(pair(4, 6))[0];
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].file, "/project/train.py");
  EXPECT_EQ(lines[0].line, 22);
  EXPECT_NEAR(lines[0].exposed_ms, 3, 1e-9);
}

TEST(Straggler, IsNamedWithTheLineThatMakesItSlow) {
  const std::vector<RankWork> work = {{0, {{{"train.py", 10}, 3, 0.2}, {{"train.py", 9}, 1, 0}}},
                                      {1, {{{"train.py", 10}, 5, 2.2}, {{"train.py", 9}, 1, 0}}}};
  const auto straggler = find_straggler(pair(4, 6), work);
  ASSERT_TRUE(straggler.has_value());
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_NEAR(straggler->slower, 0.5, 1e-9);
  EXPECT_EQ(straggler->line, (analysis::Location{"train.py", 10}));
  EXPECT_TRUE(straggler->is_data_loading);
}

TEST(Straggler, HasNoLineWhereNoneMakesUpHalf) {
  const std::vector<RankWork> work = {{0, {{{"a", 1}, 1, 0}, {{"a", 2}, 1, 0}, {{"a", 3}, 2, 0}}},
                                      {1, {{{"a", 1}, 1.7, 0}, {{"a", 2}, 1.7, 0}, {{"a", 3}, 2.6, 0}}}};
  EXPECT_EQ(find_straggler(pair(4, 6), work)->line.file, "");
}

TEST(Straggler, IsNotClaimedWithoutEvidence) {
  EXPECT_FALSE(find_straggler(pair(6, 6.1), {}).has_value()) << "2 %";
  EXPECT_FALSE(find_straggler(pair(4, 6, 5), {}).has_value()) << "five steps";
  auto noisy = pair(4, 6);
  for (std::size_t i = 0; i < 3; ++i) {  // in three of eight steps rank 0 works longer
    noisy[0].collectives[i].waited_ns = 0;
    noisy[0].iterations[i].ended_ns += 2 * kMs;
  }
  EXPECT_FALSE(find_straggler(noisy, {}).has_value());
}

}  // namespace
}  // namespace ridgeline::jobs
