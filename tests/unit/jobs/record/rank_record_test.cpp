// From a recording and what the process says to the collectives and transfers of a rank.
#include "jobs/record/rank_record.h"

#include <gmock/gmock.h>

#include "tests/unit/analysis/recording_builder.h"

namespace ridgeline::jobs {
namespace {

using analysis::testing::Frame;
using analysis::testing::RecordingBuilder;
using protocol::MessageKind;
using recording::Scope;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Frame kDistributed{"/env/site-packages/torch/distributed/distributed_c10d.py", "all_reduce", 3000};
constexpr std::uint64_t kUs = 1000;

const analysis::SourceScope& scope() {
  static const analysis::SourceScope one{"/project", {"/env"}, {}};
  return one;
}

std::uint64_t slot(std::uint64_t kind, std::uint64_t tag) { return kind << 56U | tag << 24U; }

/// Rank 0 of two. One step: backward calls the all-reduces of two buckets, waits for them, and the script reduces a
/// metric. The group's thread runs all three.
class Story {
 public:
  RecordingBuilder builder;
  protocol::CommunicationTrace trace;

  /// `functional`: the metric is reduced by a functional collective, which C++ waits for.
  explicit Story(bool functional = false) {
    const std::uint32_t backward = builder.stack({{"train.py", "main", 22}, analysis::testing::kEngine});
    const std::uint32_t metric = builder.stack({{"train.py", "main", 23}, kDistributed});
    builder.iteration(100 * kUs, 1000 * kUs);
    for (const std::uint64_t start : {200 * kUs, 300 * kUs}) {
      const auto node = builder.backward("AccumulateGrad", backward, start, start + 20 * kUs, 1);
      builder.op({"c10d::allreduce_", backward, start + 5 * kUs, start + 10 * kUs, node});
    }
    builder.op({"aten::copy_", backward, 520 * kUs, 530 * kUs});  // once the first bucket is there
    if (functional) {
      const std::uint32_t plain = builder.stack({{"train.py", "main", 23}});
      const auto outer = builder.op({"_c10d_functional::all_reduce", plain, 695 * kUs, 715 * kUs});
      builder.op({"c10d::allreduce_", plain, 700 * kUs, 710 * kUs, outer});
      builder.op({"_c10d_functional::wait_tensor", plain, 720 * kUs, 805 * kUs});
    } else {
      builder.op({"c10d::allreduce_", metric, 700 * kUs, 710 * kUs});
      trace.waits = {{720 * static_cast<std::int64_t>(kUs), 805 * static_cast<std::int64_t>(kUs)}};
    }
    const std::uint16_t group = builder.thread(9);
    builder.op({"gloo:all_reduce", 0, 210 * kUs, 500 * kUs, recording::kNone, Scope::kUser, -1, 0, group});
    builder.op({"gloo:all_reduce", 0, 505 * kUs, 600 * kUs, recording::kNone, Scope::kUser, -1, 0, group});
    builder.op({"gloo:all_reduce", 0, 712 * kUs, 800 * kUs, recording::kNone, Scope::kUser, -1, 0, group});
    trace.host = "host";
    trace.steps = {41};
    trace.groups = {{"0", "gloo", {0, 1}}};
    trace.calls = {{0, 10, "all_reduce", 4000, "float32"},
                   {0, 11, "all_reduce", 800, "float32"},
                   {0, 12, "all_reduce", 4, "float32"}};
    trace.buckets = {{0, 0, 4000, {"out.weight"}, {4000}}, {0, 1, 800, {"in.weight", "in.bias"}, {600, 200}}};
  }

  TracedRank traced(int rank = 0) const { return trace_rank(builder.build(), trace, scope(), rank, 2); }

  void message(std::uint64_t start, std::uint64_t end, std::uint64_t slot, std::uint64_t bytes, bool sent,
               MessageKind kind = MessageKind::kUnboundBuffer, std::int64_t position = 0) {
    if (trace.connections.empty()) {
      trace.connections = {{"a:1", "b:2"}};
    }
    trace.messages.push_back({static_cast<std::int64_t>(start * kUs), static_cast<std::int64_t>(end * kUs), slot, bytes,
                              0, kind, sent, position});
  }
};

std::vector<std::int64_t> waits(const TracedRank& rank) {
  std::vector<std::int64_t> us;
  for (const Collective& one : rank.record.collectives) {
    us.push_back(one.waited_ns / 1000);
  }
  return us;
}

TEST(TraceRank, JoinsCallsToWhatTheGroupRan) {
  const TracedRank rank = Story().traced();
  EXPECT_THAT(rank.warnings, IsEmpty());
  ASSERT_EQ(rank.record.collectives.size(), 3U);
  const Collective& first = rank.record.collectives[0];
  EXPECT_EQ(first.kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(first.sequence, 10U);
  EXPECT_EQ(first.bytes, 4000U);
  EXPECT_EQ(first.called_ns, 205'000);
  EXPECT_EQ(first.started_ns, 210'000);
  EXPECT_EQ(first.ended_ns, 500'000);
  EXPECT_EQ(rank.record.iterations[0].step, 41);
}

TEST(TraceRank, NamesBucketsAndLines) {
  const TracedRank rank = Story().traced();
  const auto& all = rank.record.collectives;
  EXPECT_EQ(all[0].bucket, 0);
  EXPECT_EQ(all[1].bucket, 1);
  EXPECT_THAT(all[1].parameters, ElementsAre("in.weight", "in.bias"));
  EXPECT_THAT(all[1].parameter_bytes, ElementsAre(600, 200));
  EXPECT_EQ(all[2].bucket, -1) << "it is no bucket: its size is another";
  EXPECT_EQ(all[1].file, "/project/train.py");
  EXPECT_EQ(all[1].line, 22);
  EXPECT_EQ(all[2].line, 23);
}

TEST(TraceRank, KeepsMessagesOfWhichOneEndsMuchLater) {
  Story story;
  for (std::uint64_t i = 0; i < 19; ++i) {
    story.message(220 + i, 230 + i, slot(1, 10), 100, i % 2 == 0);
  }
  story.message(300, 20'000, slot(1, 10), 100, true);  // its thread was held up, 19.5 ms after the collective
  const TracedRank rank = story.traced();
  EXPECT_THAT(rank.warnings, IsEmpty());
  EXPECT_EQ(rank.messages.size(), 20U);
}

TEST(TraceRank, WaitsFromTheLastOperationToTheResult) {
  // The waits of the first bucket, from the end of the last node; of the second, from the copy; and of the metric's
  // Work.wait().
  EXPECT_THAT(waits(Story().traced()), ElementsAre(180, 70, 80));
}

TEST(TraceRank, WaitsForFunctionalCollectivesInCpp) {
  EXPECT_THAT(waits(Story(true).traced()), ElementsAre(180, 70, 80));
}

TEST(TraceRank, KnowsAReduceScatterThatGlooRunsAsAnAllReduce) {
  Story story;
  story.builder.columns.op_name[5] = story.builder.text("c10d::_reduce_scatter_base_");
  const TracedRank rank = story.traced();
  EXPECT_THAT(rank.warnings, IsEmpty());
  ASSERT_EQ(rank.record.collectives.size(), 3U);
  EXPECT_EQ(rank.record.collectives[2].kind, CollectiveKind::kReduceScatter);
  EXPECT_THAT(waits(rank), ElementsAre(180, 70, 80));
}

TEST(TraceRank, AResultIsThereWhenTheThreadGoesOnWithIt) {
  Story story;
  // The group's thread notes the end of the first bucket 45 us late: the last byte was there before the copy began.
  story.builder.columns.op_end[6] = 565 * kUs;
  story.message(400, 510, slot(4, 10), 2000, false);
  const TracedRank rank = story.traced();
  ASSERT_EQ(rank.messages.size(), 1U);
  EXPECT_EQ(rank.record.collectives[0].ended_ns, 520'000);
  EXPECT_EQ(waits(rank)[0], 200);
}

TEST(TraceRank, DoesNotWaitForABucketThatEndsDuringBackward) {
  Story story;
  story.builder.columns.op_end[6] = 290 * kUs;  // before the second bucket is called
  EXPECT_EQ(story.builder.text("gloo:all_reduce"), story.builder.columns.op_name[6]);
  EXPECT_EQ(waits(story.traced())[0], 0);
}

TEST(TraceRank, HasNoCollectivesWhereTheCallsDoNotAgree) {
  Story fewer;
  fewer.trace.calls.pop_back();
  EXPECT_THAT(fewer.traced().record.collectives, IsEmpty());
  EXPECT_THAT(fewer.traced().warnings, ElementsAre(HasSubstr("has 2 calls, and the recording 3")));
  Story other;
  other.trace.calls[1].kind = "broadcast";
  EXPECT_THAT(other.traced().record.collectives, IsEmpty());
}

TEST(TraceRank, LeavesOutBackendsWithoutTimes) {
  Story story;
  story.trace.groups[0].backend = "nccl";
  EXPECT_THAT(story.traced().record.collectives, IsEmpty());
  EXPECT_THAT(story.traced().warnings, ElementsAre(HasSubstr("3 of 3 collectives were left out")));
}

/// A rank on a GPU: in one step two all-reduces whose kernels wait for the stream, and one of which nothing was
/// launched.
class DeviceStory {
 public:
  RecordingBuilder builder;
  protocol::CommunicationTrace trace;

  DeviceStory() {
    const std::uint32_t line = builder.at("train.py", 22);
    builder.iteration(100 * kUs, 1000 * kUs);
    std::vector<std::uint32_t> launches;
    for (const std::uint64_t start : {200 * kUs, 300 * kUs, 400 * kUs}) {
      const auto op = builder.op({"c10d::allreduce_", line, start, start + 20 * kUs});
      const auto inner = builder.op({"record_param_comms", line, start + 1 * kUs, start + 19 * kUs, op});
      launches.push_back(builder.call({recording::Call::kLaunch, start + 2 * kUs, start + 4 * kUs, inner, line}));
    }
    builder.activity({"gemm", 250 * kUs, 450 * kUs});
    builder.activity({"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 350 * kUs, 500 * kUs, launches[0]});
    builder.activity({"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 500 * kUs, 650 * kUs, launches[1]});
    builder.activity({"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 700 * kUs, 710 * kUs});  // of no call that is known
    trace.steps = {41};
    trace.groups = {{"0", "nccl", {0, 1}}};
    for (const std::uint64_t sequence : {10U, 11U, 12U}) {
      trace.calls.push_back({0, sequence, "all_reduce", 4000, "float32"});
    }
  }

  TracedRank traced() const { return trace_rank(builder.build(), trace, scope(), 0, 2); }
};

TEST(TraceRank, TakesTheTimesOfNcclFromItsKernels) {
  const TracedRank rank = DeviceStory().traced();
  EXPECT_TRUE(rank.record.on_device);
  ASSERT_EQ(rank.record.collectives.size(), 2U);
  const Collective& second = rank.record.collectives[1];
  EXPECT_EQ(second.sequence, 11U);
  EXPECT_EQ(second.bytes, 4000U);
  EXPECT_EQ(second.called_ns, 300'000);
  EXPECT_EQ(second.started_ns, 500'000);
  EXPECT_EQ(second.ended_ns, 650'000);
  EXPECT_EQ(second.line, 22);
  EXPECT_THAT(rank.warnings, ElementsAre(HasSubstr("1 of 3 collectives were left out")));
}

TEST(TraceRank, KnowsWhatElseTheDeviceDid) {
  const TracedRank rank = DeviceStory().traced();
  ASSERT_EQ(rank.record.computing.size(), 1U);
  EXPECT_EQ(rank.record.computing[0].started_ns, 250'000);
  EXPECT_EQ(rank.record.computing[0].ended_ns, 450'000);
}

TEST(TraceRank, GivesMessagesToTheirCollectivesByTag) {
  Story story;
  story.message(211, 212, slot(4, 10), 2000, true, MessageKind::kReceiveReady);
  story.message(213, 220, slot(4, 10), 2000, true);
  story.message(300, 480, slot(4, 10), 2000, false);
  story.message(510, 520, slot(4, 11), 400, true);
  story.message(50, 60, slot(4, 9), 400, true);  // of a collective before the recording
  const TracedRank rank = story.traced();
  EXPECT_THAT(rank.warnings, IsEmpty());
  ASSERT_EQ(rank.messages.size(), 3U);
  EXPECT_EQ(rank.messages[0].transfer.started_ns, 211'000) << "a receive begins when it is posted";
  EXPECT_FALSE(rank.messages[0].transfer.sends);
  EXPECT_EQ(rank.messages[0].transfer.ended_ns, 480'000);
  EXPECT_EQ(rank.messages[2].transfer.collective, 1U);
}

TEST(TraceRank, LeavesOutMessagesOfAnUnknownGroup) {
  Story story;
  story.message(20'000, 20'010, slot(4, 10), 2000, true);  // when that collective was long over
  const TracedRank rank = story.traced();
  EXPECT_THAT(rank.messages, IsEmpty());
  EXPECT_THAT(rank.warnings, ElementsAre(HasSubstr("not known which process group")));
}

TEST(TraceRank, TakesTheTimesOfSendFromItsMessage) {
  Story story;
  story.trace.point_to_point = {{"send", 0, 1, 7, 64, "float32"}};
  auto& columns = story.builder.columns;
  const auto at = static_cast<std::ptrdiff_t>(6);  // before those of the group's thread
  RecordingBuilder only;
  columns.op_thread.insert(columns.op_thread.begin() + at, 0);
  columns.op_scope.insert(columns.op_scope.begin() + at, 0);
  columns.op_name.insert(columns.op_name.begin() + at, story.builder.text("c10d::send"));
  columns.op_node.insert(columns.op_node.begin() + at, story.builder.at("train.py", 30));
  columns.op_parent.insert(columns.op_parent.begin() + at, recording::kNone);
  columns.op_start.insert(columns.op_start.begin() + at, 850 * kUs);
  columns.op_end.insert(columns.op_end.begin() + at, 860 * kUs);
  columns.op_sequence.insert(columns.op_sequence.begin() + at, -1);
  columns.op_forward_thread.insert(columns.op_forward_thread.begin() + at, 0);
  story.message(870, 880, 7, 64, true, MessageKind::kUnboundBuffer, 5000);
  const TracedRank rank = story.traced();
  ASSERT_EQ(rank.record.collectives.size(), 4U);
  const Collective& send = rank.record.collectives[3];
  EXPECT_EQ(send.kind, CollectiveKind::kSend);
  EXPECT_EQ(send.peer, 1);
  EXPECT_EQ(send.started_ns, 870'000);
  EXPECT_EQ(send.ended_ns, 880'000);
  EXPECT_EQ(send.line, 30);
  ASSERT_EQ(rank.messages.size(), 1U);
  EXPECT_EQ(rank.messages[0].place, 5000U);
}

/// Two ranks whose messages of the first bucket are those of one connection.
std::vector<TracedRank> two_ranks(std::uint64_t received_bytes = 2000) {
  Story first;
  first.message(213, 220, slot(4, 10), 2000, true);
  Story second;
  second.trace.connections = {{"b:2", "a:1"}};
  second.message(215, 230, slot(4, 10), received_bytes, false);
  return {first.traced(0), second.traced(1)};
}

TEST(ConnectRanks, FindsTheOtherEndByTheConnection) {
  std::vector<std::string> warnings;
  const auto records = connect_ranks(two_ranks(), warnings);
  EXPECT_THAT(warnings, IsEmpty());
  ASSERT_EQ(records[0].transfers.size(), 1U);
  ASSERT_EQ(records[1].transfers.size(), 1U);
  EXPECT_EQ(records[0].transfers[0].peer, 1);
  EXPECT_EQ(records[1].transfers[0].peer, 0);
  EXPECT_EQ(records[0].transfers[0].transaction, records[1].transfers[0].transaction);
}

TEST(ConnectRanks, LeavesOutMessagesThatTheEndsDoNotAgreeOn) {
  std::vector<std::string> warnings;
  const auto records = connect_ranks(two_ranks(1999), warnings);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("different numbers of bytes")));
  EXPECT_THAT(records[0].transfers, IsEmpty());
  EXPECT_THAT(records[1].transfers, IsEmpty());
}

TEST(ConnectRanks, KnowsThePeerInAGroupOfTwoWithoutIt) {
  std::vector<std::string> warnings;
  std::vector<TracedRank> ranks = two_ranks();
  ranks.pop_back();
  const auto records = connect_ranks(std::move(ranks), warnings);
  ASSERT_EQ(records[0].transfers.size(), 1U);
  EXPECT_EQ(records[0].transfers[0].peer, 1);
}

}  // namespace
}  // namespace ridgeline::jobs
