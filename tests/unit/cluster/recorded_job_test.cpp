// A recorded job of two ranks, replayed.
#include "cluster/recorded_job.h"

#include <gmock/gmock.h>

#include <limits>

#include "cluster/job_changes.h"
#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::cluster {
namespace {

using analysis::testing::RecordingBuilder;
using communication::Collective;
using communication::Kind;
using communication::RankRecord;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kStepUs = 1000;

const analysis::SourceScope& scope() {
  static const analysis::SourceScope one{"/project", {"/env"}, {}};
  return one;
}

/// Two ranks, two steps of 1 ms. A rank works until it calls, waits until 600 us of the step, and works for the rest.
struct Job {
  std::vector<recording::Recording> recordings;
  std::vector<RankRecord> records;

  explicit Job(const std::vector<std::int64_t>& called_us, Kind kind = Kind::kAllReduce) {
    for (std::size_t rank = 0; rank < called_us.size(); ++rank) {
      RecordingBuilder builder;
      RankRecord record{static_cast<int>(rank), static_cast<int>(called_us.size()), "host", {{"0", "gloo", {0, 1}}}};
      for (std::int64_t step = 0; step < 2; ++step) add_step(builder, record, step, called_us[rank], kind);
      recordings.push_back(builder.build());
      records.push_back(std::move(record));
    }
  }

  base::Result<RecordedJob> made() const { return recorded_job(records, records, recordings, scope()); }

 private:
  static void add_step(RecordingBuilder& builder, RankRecord& record, std::int64_t step, std::int64_t called_us,
                       Kind kind) {
    const std::uint32_t line = builder.stack({{"train.py", "main", 22}});
    const std::int64_t begin = (10'000 + step * kStepUs) * kUs;
    const auto at = [&](std::int64_t us) { return static_cast<std::uint64_t>(begin + us * kUs); };
    builder.iteration(at(0), at(kStepUs));
    builder.op({"aten::mm", line, at(0), at(called_us)});
    builder.op({"aten::add", line, at(600), at(kStepUs)});
    record.iterations.push_back({40 + step, begin, begin + kStepUs * kUs});
    Collective one;
    one.kind = kind;
    one.sequence = static_cast<std::uint64_t>(step);
    one.bytes = 1000;
    one.peer = kind == Kind::kBroadcast ? 0 : -1;
    one.called_ns = begin + called_us * kUs;
    one.started_ns = one.called_ns + 10 * kUs;
    one.ended_ns = begin + 600 * kUs;
    one.waited_ns = one.ended_ns - one.called_ns;
    one.iteration = static_cast<std::uint32_t>(step);
    record.collectives.push_back(one);
  }
};

TEST(RecordedJob, ReplaysWhatWasRecorded) {
  const Job job({200, 500});
  const auto made = job.made();
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->steps, ElementsAre(40, 41));
  const auto replayed = replay(*made);
  ASSERT_TRUE(replayed) << replayed.error().message();
  EXPECT_EQ(replayed->step_ns, made->recorded_ns);
  EXPECT_THAT(replayed->step_ns[0], ElementsAre(1'000'000, 1'000'000));
}

TEST(RecordedJob, ARankWaitsForTheLastOneAndNotLonger) {
  auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  for (graph::Task& task : made->ranks[1].graph.tasks) {
    if (task.duration_ns == 500 * kUs) task.duration_ns = 100 * kUs;  // then rank 0 is last, by 100 us
  }
  const auto replayed = replay(*made);
  ASSERT_TRUE(replayed);
  // The work of rank 0, 10 us to start, 90 us of the collective, and the work after it.
  EXPECT_THAT(replayed->step_ns[0], ElementsAre((200 + 10 + 90 + 400) * kUs, (200 + 10 + 90 + 400) * kUs));
}

TEST(RecordedJob, TheRootOfABroadcastWaitsForItsReceiver) {
  auto made = Job({200, 500}, Kind::kBroadcast).made();
  ASSERT_TRUE(made);
  for (graph::Task& task : made->ranks[1].graph.tasks) {
    if (task.duration_ns == 500 * kUs) task.duration_ns = 900 * kUs;
  }
  const auto replayed = replay(*made);
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->step_ns[0][0], (900 + 10 + 90 + 400) * kUs);
  EXPECT_EQ(replayed->step_ns[1][0], (900 + 10 + 90 + 400) * kUs);
  // Rank 1 begins earlier: its start no longer holds the root up.
  const auto faster = with_faster_rank(*made, 1, 9);
  ASSERT_TRUE(faster);
  EXPECT_EQ(replay(*faster)->step_ns[0][0], (200 + 10 + 90 + 400) * kUs);
}

TEST(RecordedJob, ASendIsOverBeforeItsReceiveIs) {
  Job job({200, 500});
  for (Collective& one : job.records[0].collectives) {
    one.kind = Kind::kSend;
    one.peer = 1;
    one.started_ns = one.called_ns + 310 * kUs;  // once the receive was posted
    one.ended_ns = one.called_ns + 320 * kUs;
    one.waited_ns = one.ended_ns - one.called_ns;
  }
  for (Collective& one : job.records[1].collectives) {
    one.kind = Kind::kReceive;
    one.peer = 0;
    one.started_ns = one.called_ns + 95 * kUs;  // when the first byte was read
  }
  auto made = job.made();
  ASSERT_TRUE(made) << made.error().message();
  const auto replayed = replay(*made);
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->step_ns, made->recorded_ns);
  for (graph::Task& task : made->ranks[1].graph.tasks) {
    if (task.duration_ns == 500 * kUs) task.duration_ns = 400 * kUs;
  }
  const auto earlier = replay(*made);
  ASSERT_TRUE(earlier);
  EXPECT_EQ(earlier->step_ns[0][0], (kStepUs - 100) * kUs) << "the sender waits for the receiver's call";
}

TEST(RecordedJob, RanksBeginAsTheyBegan) {
  Job job({200, 500});
  std::vector<RankRecord> aligned = job.records;
  for (communication::Iteration& one : aligned[1].iterations) {
    one.started_ns += 70 * kUs;
    one.ended_ns += 70 * kUs;
  }
  const auto made = recorded_job(job.records, aligned, job.recordings, scope());
  ASSERT_TRUE(made);
  const auto replayed = replay(*made);
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->schedule.start[replayed->graph.parts[1].first + 1], 70 * kUs);
}

TEST(RecordedJob, ASecondCollectiveStartsAfterTheFirst) {
  Job job({200, 500});
  for (RankRecord& rank : job.records) {
    Collective second = rank.collectives[0];  // called during the first, and run after it
    second.sequence = 7;
    second.called_ns += 20 * kUs;
    second.started_ns = second.ended_ns + 5 * kUs;
    second.ended_ns += 50 * kUs;
    second.waited_ns = 0;
    rank.collectives.insert(rank.collectives.begin() + 1, second);
  }
  auto made = job.made();
  ASSERT_TRUE(made);
  for (EqualRanks& rank : made->ranks) {
    for (Call& call : rank.calls) {
      if (call.sequence == 0) call.recorded->cost_ns += 1e6;
    }
  }
  const auto replayed = replay(*made);
  ASSERT_TRUE(replayed);
  const JobGraph::Collective& first = replayed->graph.collectives[0];
  const JobGraph::Collective& second = replayed->graph.collectives[1];
  ASSERT_EQ(second.sequence, 7U);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(replayed->schedule.start[second.starts[rank]], replayed->schedule.end[first.ends[rank]] + 5 * kUs);
  }
}

TEST(RecordedJob, RefusesWhatCannotBeReplayed) {
  const auto refused = [](const Job& job) {
    const auto made = job.made();
    return made ? std::string() : made.error().message();
  };
  Job other_steps({200, 500});
  for (communication::Iteration& one : other_steps.records[1].iterations) one.step += 100;
  EXPECT_THAT(refused(other_steps), HasSubstr("no step that all of them took"));
  Job absent({200, 500});
  absent.records.pop_back();
  absent.recordings.pop_back();
  EXPECT_THAT(refused(absent), HasSubstr("rank 1, with which others communicate, was not recorded"));
  Job shorter({200, 500});
  shorter.records[0].iterations.push_back({42, 20'000'000, 21'000'000});
  EXPECT_THAT(refused(shorter), HasSubstr("fewer steps"));
  Job early({200, 500});
  early.records[1].collectives[0].called_ns = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(refused(early), HasSubstr("rank 1: a time of its record is out of range"));
}

// ---- changes
// ---------------------------------------------------------------------------------------------------------

std::int64_t first_step_us(const base::Result<RecordedJob>& changed, std::size_t rank) {
  if (!changed) return -1;
  const auto replayed = replay(*changed);
  return replayed ? replayed->step_ns[rank][0] / kUs : -1;
}

TEST(JobChanges, AFasterLineIsFasterOnAllRanks) {
  const auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  const auto changed = with_faster_line(*made, {"train.py", 22}, 2);
  // Half of the work of rank 1, 10 us to start, 90 us of the collective, and half of the work after it.
  EXPECT_EQ(first_step_us(changed, 0), 250 + 10 + 90 + 200);
  EXPECT_EQ(first_step_us(changed, 1), 250 + 10 + 90 + 200);
  EXPECT_EQ(first_step_us(*made, 0), kStepUs) << "the job itself stays as it is";
}

TEST(JobChanges, AFasterRankHelpsUntilAnotherOneIsLast) {
  const auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  const auto changed = with_faster_rank(*made, 1, 5);
  EXPECT_EQ(first_step_us(changed, 0), 200 + 10 + 90 + 400);
  EXPECT_EQ(first_step_us(changed, 1), 200 + 10 + 90 + 400 / 5);
}

TEST(JobChanges, AFasterNetworkHelpsOnlyBehindTheLastRank) {
  const auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  EXPECT_EQ(first_step_us(with_faster_communication(*made, 9), 0), 500 + 10 + 10 + 400);
}

TEST(JobChanges, WhatTheJobDoesNotHaveIsAnError) {
  const auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  const auto line = with_faster_line(*made, {"train.py", 23}, 2);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().message(), "no rank spends time at train.py:23");
  const auto rank = with_faster_rank(*made, 2, 2);
  ASSERT_FALSE(rank);
  EXPECT_EQ(rank.error().message(), "no rank 2 was recorded");
}

}  // namespace
}  // namespace ridgeline::cluster
