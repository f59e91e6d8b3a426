// A recorded job of two ranks, replayed.
#include "jobs/replay/recorded_job.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "jobs/optimize/changed_step.h"
#include "jobs/optimize/job_changes.h"
#include "jobs/optimize/transfer_time.h"
#include "jobs/replay/job_analysis.h"
#include "tests/unit/analysis/recording_builder.h"
#include "tests/unit/jobs/replay/recorded_ddp.h"

namespace ridgeline::jobs {
namespace {

using analysis::testing::RecordingBuilder;
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

  explicit Job(const std::vector<std::int64_t>& called_us, CollectiveKind kind = CollectiveKind::kAllReduce) {
    for (std::size_t rank = 0; rank < called_us.size(); ++rank) {
      RecordingBuilder builder;
      RankRecord record{static_cast<int>(rank), static_cast<int>(called_us.size()), "host", {{"0", "gloo", {0, 1}}}};
      for (std::int64_t step = 0; step < 2; ++step) {
        add_step(builder, record, step, called_us[rank], kind);
      }
      recordings.push_back(builder.build());
      records.push_back(std::move(record));
    }
  }

  base::Result<RecordedJob> made() const { return recorded_job(records, records, recordings, scope()); }

 private:
  static void add_step(RecordingBuilder& builder, RankRecord& record, std::int64_t step, std::int64_t called_us,
                       CollectiveKind kind) {
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
    one.peer = kind == CollectiveKind::kBroadcast ? 0 : -1;
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

TEST(RecordedJob, TellsWhatEachRankDoesAtALine) {
  const auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  const auto first = thread_times(made->ranks[0].graph, made->steps.size());
  const auto second = thread_times(made->ranks[1].graph, made->steps.size());
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(first[0].line.line, 22U);
  EXPECT_DOUBLE_EQ(first[0].ms, 0.6) << "the wait is not in it";
  EXPECT_DOUBLE_EQ(second[0].ms, 0.9);
}

TEST(RecordedJob, ARankWaitsForTheLastOneAndNotLonger) {
  auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  for (step::Task& task : made->ranks[1].graph.tasks) {
    if (task.duration_ns == 500 * kUs) {
      task.duration_ns = 100 * kUs;  // then rank 0 is last, by 100 us
    }
  }
  const auto replayed = replay(*made);
  ASSERT_TRUE(replayed);
  // The work of rank 0, 10 us to start, 90 us of the collective, and the work after it.
  EXPECT_THAT(replayed->step_ns[0], ElementsAre((200 + 10 + 90 + 400) * kUs, (200 + 10 + 90 + 400) * kUs));
}

TEST(RecordedJob, TheRootOfABroadcastWaitsForItsReceiver) {
  auto made = Job({200, 500}, CollectiveKind::kBroadcast).made();
  ASSERT_TRUE(made);
  for (step::Task& task : made->ranks[1].graph.tasks) {
    if (task.duration_ns == 500 * kUs) {
      task.duration_ns = 900 * kUs;
    }
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
    one.kind = CollectiveKind::kSend;
    one.peer = 1;
    one.started_ns = one.called_ns + 310 * kUs;  // once the receive was posted
    one.ended_ns = one.called_ns + 320 * kUs;
    one.waited_ns = one.ended_ns - one.called_ns;
  }
  for (Collective& one : job.records[1].collectives) {
    one.kind = CollectiveKind::kReceive;
    one.peer = 0;
    one.started_ns = one.called_ns + 95 * kUs;  // when the first byte was read
  }
  auto made = job.made();
  ASSERT_TRUE(made) << made.error().message();
  const auto replayed = replay(*made);
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->step_ns, made->recorded_ns);
  for (step::Task& task : made->ranks[1].graph.tasks) {
    if (task.duration_ns == 500 * kUs) {
      task.duration_ns = 400 * kUs;
    }
  }
  const auto earlier = replay(*made);
  ASSERT_TRUE(earlier);
  EXPECT_EQ(earlier->step_ns[0][0], (kStepUs - 100) * kUs) << "the sender waits for the receiver's call";
}

TEST(RecordedJob, RanksBeginAsTheyBegan) {
  Job job({200, 500});
  std::vector<RankRecord> aligned = job.records;
  for (Iteration& one : aligned[1].iterations) {
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
      if (call.sequence == 0) {
        call.recorded->cost_ns += 1e6;
      }
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
  for (Iteration& one : other_steps.records[1].iterations) {
    one.step += 100;
  }
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
  if (!changed) {
    return -1;
  }
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

// ---- buckets --------------------------------------------------------------------------------------------------------

/// Steps of 995 us: gradients at 200, 300 and 500 us; buckets of the first two and of the last, which take 30 and 50
/// us.
constexpr std::int64_t kDdpStepUs = 995;

testing::DdpStep ddp_step_of_995_us() { return {{200, 300, 500}, {1000, 1000, 4000}, {2, 1}}; }

TEST(TransferTime, IsTheLineThroughTheSizes) {
  const auto made = testing::DdpJob(ddp_step_of_995_us()).made();
  ASSERT_TRUE(made) << made.error().message();
  const TransferTime time = transfer_times(*made, TransferAssumption::kTransfer)[CollectiveKind::kAllReduce];
  EXPECT_TRUE(time.is_split);
  EXPECT_NEAR(time.latency_ns, 10 * kUs, 1);
  EXPECT_NEAR(time.ns_per_byte, 10, 1e-6);
}

TEST(TransferTime, CollectivesThatOverlapCountTogether) {
  testing::DdpJob job(ddp_step_of_995_us());
  for (RankRecord& rank : job.records) {
    for (std::size_t i = 0; i < rank.collectives.size(); i += 2) {  // the first bucket: until the second has begun
      rank.collectives[i].ended_ns = rank.collectives[i + 1].started_ns + 10 * kUs;
    }
  }
  const auto made = job.made();
  ASSERT_TRUE(made);
  const TransferTime transfer = transfer_times(*made, TransferAssumption::kTransfer)[CollectiveKind::kAllReduce];
  EXPECT_FALSE(transfer.is_split) << "of two that are on their way at once nobody knows which took the time";
  EXPECT_NEAR(transfer.at(6000), 250 * kUs, 1) << "from 305 to 555 us";
  EXPECT_NEAR(transfer_times(*made, TransferAssumption::kLatency)[CollectiveKind::kAllReduce].at(1), 125 * kUs, 1);
}

TEST(TransferTime, OneSizeLeavesItsLatencyOpen) {
  const auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  const TransferTime transfer = transfer_times(*made, TransferAssumption::kTransfer)[CollectiveKind::kAllReduce];
  const TransferTime latency = transfer_times(*made, TransferAssumption::kLatency)[CollectiveKind::kAllReduce];
  EXPECT_FALSE(transfer.is_split || latency.is_split);
  EXPECT_NEAR(transfer.at(2000), 180 * kUs, 1) << "twice the 90 us of 1000 bytes";
  EXPECT_NEAR(latency.at(2000), 90 * kUs, 1);
}

TEST(TransferTime, WhatWasMeasuredOfTheNetworkGoesFirst) {
  auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  const std::vector<AllReduceTime> measured = {{.bytes = 1000, .ns = {70e3, 70e3, 70e3}},
                                               {.bytes = 9000, .ns = {150e3, 150e3, 150e3}}};
  made->measured_all_reduce = measured_time(measured);
  ASSERT_TRUE(made->measured_all_reduce.has_value());
  const TransferTime time = transfer_times(*made, TransferAssumption::kLatency)[CollectiveKind::kAllReduce];
  EXPECT_TRUE(time.is_split) << "although one size was recorded";
  EXPECT_NEAR(time.latency_ns, 60 * kUs, 1);
  EXPECT_NEAR(time.ns_per_byte, 10, 1e-6);
  EXPECT_FALSE(measured_time(std::span(measured).first(1)).has_value()) << "one size tells no latency";
  EXPECT_FALSE(measured_time({}).has_value());
}

TEST(JobChanges, BandwidthAndCompressionLeaveTheLatency) {
  const auto made = testing::DdpJob(ddp_step_of_995_us()).made();
  ASSERT_TRUE(made);
  ASSERT_EQ(first_step_us(*made, 0), kDdpStepUs);
  // The last bucket takes 10 us and a quarter of 40 us; the thread goes on 30 us earlier.
  EXPECT_EQ(first_step_us(with_bandwidth(*made, 4, TransferAssumption::kTransfer), 0), kDdpStepUs - 30);
  EXPECT_EQ(first_step_us(with_compression(*made, 4, TransferAssumption::kTransfer), 0), kDdpStepUs - 30);
}

TEST(JobChanges, WithoutOverlapAllReducesFollowTheLastGradient) {
  const auto made = testing::DdpJob(ddp_step_of_995_us()).made();
  ASSERT_TRUE(made);
  // The first bucket's 30 us now come before the second one's 50 us.
  const auto changed = without_overlap(*made);
  ASSERT_TRUE(changed) << changed.error().message();
  EXPECT_EQ(first_step_us(changed, 0), kDdpStepUs + 30);
  EXPECT_EQ(changed->ranks[0].calls.size(), made->ranks[0].calls.size());
}

TEST(JobChanges, OtherBucketSizesMoveGradientsBetweenAllReduces) {
  const auto made = testing::DdpJob(ddp_step_of_995_us()).made();
  ASSERT_TRUE(made);
  // One bucket of 6 kB: 70 us after the last gradient instead of 50.
  EXPECT_EQ(first_step_us(with_bucket_size(*made, 1 << 20, TransferAssumption::kTransfer), 0), kDdpStepUs + 20);
  // The buckets as they were: also the times are.
  const auto same = with_bucket_size(*made, 2000, TransferAssumption::kTransfer);
  EXPECT_EQ(first_step_us(same, 0), kDdpStepUs);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->bucket_gradients, made->bucket_gradients);
  // And of those the changes can be made in turn.
  const auto twice = with_bucket_size(*with_bucket_size(*made, 1, TransferAssumption::kTransfer), 1 << 20,
                                      TransferAssumption::kTransfer);
  EXPECT_EQ(first_step_us(twice, 0), kDdpStepUs + 20);
}

TEST(JobChanges, EachPartOfABucketHasItsLatency) {
  const auto made = testing::DdpJob(ddp_step_of_995_us()).made();
  ASSERT_TRUE(made);
  EXPECT_EQ(first_step_us(with_partition(*made, 1, TransferAssumption::kTransfer), 0), kDdpStepUs);
  EXPECT_EQ(first_step_us(with_partition(*made, 2, TransferAssumption::kTransfer), 0), kDdpStepUs + 10);
  const auto four = with_partition(*made, 4, TransferAssumption::kTransfer);
  EXPECT_EQ(first_step_us(four, 0), kDdpStepUs + 30);
  ASSERT_TRUE(four);
  EXPECT_EQ(four->ranks[1].calls.size(), 4 * made->ranks[1].calls.size());
  EXPECT_FALSE(with_bucket_size(*four, 1 << 20, TransferAssumption::kTransfer)) << "a part has no whole gradients";
}

TEST(JobChanges, ABucketThatIsSentFirstDelaysTheOthers) {
  const auto made = testing::DdpJob(ddp_step_of_995_us()).made();
  ASSERT_TRUE(made);
  EXPECT_EQ(first_step_us(with_bucket_order(*made, {0, 1}), 0), kDdpStepUs);
  // The second bucket's 50 us as before, and then the first one's 30.
  EXPECT_EQ(first_step_us(with_bucket_order(*made, {1, 0}), 0), kDdpStepUs + 30);
  for (const std::vector<std::size_t>& wrong : {std::vector<std::size_t>{0}, {0, 0}, {0, 2}, {0, 1, 2}}) {
    const auto refused = with_bucket_order(*made, wrong);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("each of the 2 buckets of a step once"));
  }
}

TEST(JobChanges, BucketSizesNeedTheGradients) {
  const auto refused = [](const testing::DdpJob& job) {
    const auto made = job.made();
    const auto changed = made ? with_bucket_size(*made, 1 << 20, TransferAssumption::kTransfer) : made;
    return changed ? std::string() : changed.error().message();
  };
  testing::DdpJob unknown(ddp_step_of_995_us());
  for (Collective& one : unknown.records[0].collectives) {
    one.parameter_bytes.clear();
  }
  EXPECT_THAT(refused(unknown), HasSubstr("no sizes of gradients: record the job again"));
  testing::DdpJob others(ddp_step_of_995_us());
  for (Collective& one : others.records[0].collectives) {
    one.parameter_bytes.push_back(7);
  }
  EXPECT_THAT(refused(others), HasSubstr("accumulated 3 gradients in a step, and its buckets have 5"));
  testing::DdpJob late(ddp_step_of_995_us());
  late.records[1].collectives[1].bucket = -1;
  EXPECT_THAT(refused(late), HasSubstr("rank 1 did not reduce each of its buckets once"));
  testing::DdpJob early(ddp_step_of_995_us());
  early.records[1].collectives[1].called_ns -= 250 * kUs;  // when only its first gradient was there
  EXPECT_THAT(refused(early), HasSubstr("rank 1 did not have its gradients ready in the order of the buckets"));
  const auto none = Job({200, 500}).made();
  ASSERT_TRUE(none);
  EXPECT_THAT(without_overlap(*none).error().message(), HasSubstr("buckets"));
  EXPECT_THAT(with_compression(*none, 2, TransferAssumption::kTransfer).error().message(), HasSubstr("no buckets"));
}

TEST(ChangedStep, HasAnIntervalOfTheStepsTheReplayAndOtherAssumptions) {
  const auto made = Job({200, 500}).made();
  ASSERT_TRUE(made);
  const auto unchanged = replay(*made);
  const auto likely = replay(*with_bandwidth(*made, 2, TransferAssumption::kTransfer));
  const auto other = replay(*with_bandwidth(*made, 2, TransferAssumption::kLatency));
  ASSERT_TRUE(unchanged && likely && other);
  const analysis::ChangedStep alone = changed_step(*made, *unchanged, {*likely});
  EXPECT_NEAR(alone.step_ms.value, 0.955, 1e-6) << "45 of 90 us less";
  EXPECT_NEAR(alone.step_ms.high - alone.step_ms.value, 0.955 * std::hypot(0.02, 0.15 * 0.045 / 0.955), 1e-6)
      << "equal steps, and an exact replay";
  EXPECT_NEAR(alone.speed_up.value, 1 / 0.955, 1e-6);
  const analysis::ChangedStep both = changed_step(*made, *unchanged, {*likely, *other});
  EXPECT_DOUBLE_EQ(both.step_ms.value, alone.step_ms.value);
  EXPECT_DOUBLE_EQ(both.step_ms.low, alone.step_ms.low);
  EXPECT_NEAR(both.step_ms.high, 1.02, 1e-6) << "all of it latency: as it was, give or take 2 %";
  EXPECT_NEAR(both.speed_up.low, 0.98, 1e-6);
}

}  // namespace
}  // namespace ridgeline::jobs
