// Execution traces of a recorded job, and the encoding that they are written in.
#include "report/export/chakra.h"

#include <gmock/gmock.h>

#include "ingest/read_execution_trace.h"
#include "jobs/optimize/changed_step.h"
#include "jobs/optimize/job_changes.h"
#include "jobs/replay/executed_job.h"
#include "report/export/protobuf_message.h"
#include "tests/unit/jobs/replay/recorded_ddp.h"

namespace ridgeline::report {
namespace {

using jobs::testing::DdpJob;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProtobufMessage, HasTheEncodingOfItsSpecification) {
  // The examples of https://protobuf.dev/programming-guides/encoding.
  ProtobufMessage number;
  number.add(1, std::uint64_t{150});
  EXPECT_EQ(number.delimited(), std::string("\x03\x08\x96\x01"));
  ProtobufMessage text;
  text.add(2, std::string_view("testing"));
  EXPECT_EQ(text.delimited(), std::string("\x09\x12\x07testing"));
  ProtobufMessage outer;
  outer.add(3, number);
  EXPECT_EQ(outer.delimited(), std::string("\x05\x1a\x03\x08\x96\x01"));
  ProtobufMessage packed;
  packed.add(6, std::vector<std::uint64_t>{3, 270, 86942});
  EXPECT_EQ(packed.delimited(), std::string("\x08\x32\x06\x03\x8e\x02\x9e\xa7\x05"));
}

TEST(ProtobufMessage, AnEmptyListIsNoFieldAndALargeNumberTakesTenBytes) {
  ProtobufMessage message;
  message.add(6, std::vector<std::uint64_t>{});
  EXPECT_EQ(message.delimited(), std::string(1, '\0'));
  message.add(1, ~std::uint64_t{0});
  EXPECT_EQ(message.delimited(), std::string("\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

DdpJob two_buckets() { return DdpJob({.ready_us = {100, 200}, .bytes = {4000, 8000}, .buckets = {1, 1}}); }

std::vector<std::string> names_of(const std::vector<NamedFile>& files) {
  std::vector<std::string> names;
  for (const NamedFile& file : files) {
    names.push_back(file.name);
  }
  return names;
}

TEST(Chakra, EachRankHasAFile) {
  const DdpJob job = two_buckets();
  const auto files = chakra_traces(job.records, *job.made());
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_THAT(names_of(*files), ElementsAre("rank.0.et", "rank.1.et", "groups.json"));
  EXPECT_THAT((*files)[0].content, testing::StartsWith("\x07\x0a\x05"
                                                       "0.0.4"));
  EXPECT_THAT((*files)[0].content, HasSubstr("all-reduce of bucket 1"));
  EXPECT_THAT((*files)[0].content, HasSubstr("train.py:22"));
  EXPECT_EQ((*files)[2].content, "{}\n") << "a group of all ranks is 0, which simulators know";
}

TEST(Chakra, OtherGroupsAreNumberedByTheirNames) {
  DdpJob job = two_buckets();
  for (jobs::RankRecord& rank : job.records) {
    rank.groups.push_back({"pair", "gloo", {1}});
  }
  job.records[0].groups.push_back({"alone", "gloo", {0}});
  const auto files = chakra_traces(job.records, *job.made());
  ASSERT_TRUE(files);
  EXPECT_EQ(files->back().content, R"({"1":[0],"2":[1]})"
                                   "\n");
}

TEST(Chakra, ACollectiveWithoutATypeIsRefused) {
  DdpJob job = two_buckets();
  for (jobs::RankRecord& rank : job.records) {
    rank.collectives[0].kind = jobs::CollectiveKind::kOther;
  }
  const auto files = chakra_traces(job.records, *job.made());
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message(), HasSubstr("rank 0 called a collective"));
}

// ---- read again -----------------------------------------------------------------------------------------------------

std::vector<analysis::ExecutionTrace> read_again(const std::vector<NamedFile>& files) {
  std::vector<analysis::ExecutionTrace> traces;
  for (const NamedFile& file : files) {
    if (!file.name.ends_with(".et")) {
      continue;
    }
    auto trace = ingest::read_execution_trace(file.content, static_cast<int>(traces.size()));
    EXPECT_TRUE(trace) << trace.error().message();
    if (trace) {
      traces.push_back(std::move(*trace));
    }
  }
  return traces;
}

TEST(Chakra, WhatIsReadAgainIsReplayedAsTheJobWas) {
  const DdpJob ddp = two_buckets();
  const auto job = ddp.made();
  ASSERT_TRUE(job);
  const auto executed = jobs::executed_job(read_again(*chakra_traces(ddp.records, *job)));
  ASSERT_TRUE(executed) << executed.error().message();
  EXPECT_THAT(executed->warnings, testing::IsEmpty());
  EXPECT_EQ(executed->job.steps, job->steps);
  const auto before = jobs::replay(*job);
  const auto after = jobs::replay(executed->job);
  ASSERT_TRUE(before && after) << after.error().message();
  EXPECT_NEAR(jobs::median_step_ms(after->step_ns), jobs::median_step_ms(before->step_ns), 0.008)
      << "what passes before a collective starts is left out";
  ASSERT_EQ(executed->job.ranks[1].calls.size(), 4U);
  EXPECT_EQ(executed->job.ranks[1].calls[3].bucket, 1);
  EXPECT_EQ(executed->job.ranks[1].calls[3].bytes, 8000);
  const auto faster = jobs::replay(*with_faster_communication(executed->job, 4));
  ASSERT_TRUE(faster);
  EXPECT_LT(jobs::median_step_ms(faster->step_ns), jobs::median_step_ms(after->step_ns));
}

/// A node of a trace by itself.
std::string node(std::uint64_t id, std::uint64_t type, std::uint64_t microseconds, std::vector<std::uint64_t> after) {
  ProtobufMessage message;
  message.add(1, id);
  message.add(2, std::string_view("n"));
  message.add(3, type);
  message.add(5, after);
  message.add(7, microseconds);
  return message.delimited();
}

std::string error_of(const std::string& bytes) {
  const auto trace = ingest::read_execution_trace(bytes, 0);
  if (!trace) {
    return trace.error().message();
  }
  const auto job = jobs::executed_job({*trace});
  return job ? "" : job.error().message();
}

TEST(Chakra, TracesOfOthersAreOneStep) {
  const std::string metadata = ProtobufMessage{}.delimited();
  const std::string bytes = metadata + node(7, 4, 30, {}) + node(9, 4, 50, {}) + node(3, 7, 0, {7}) + node(1, 1, 0, {});
  const auto trace = ingest::read_execution_trace(bytes, 5);
  ASSERT_TRUE(trace) << trace.error().message();
  const auto executed = jobs::executed_job({*trace});
  ASSERT_TRUE(executed) << executed.error().message();
  EXPECT_THAT(executed->warnings, ElementsAre(HasSubstr("1 communications of the traces have no duration")));
  const auto replayed = jobs::replay(executed->job);
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->step_ns, (std::vector<std::vector<std::int64_t>>{{80'000}})) << "the host runs one at a time";
}

TEST(Chakra, DamagedTracesAreRefused) {
  const std::string metadata = ProtobufMessage{}.delimited();
  EXPECT_EQ(error_of(metadata + node(1, 4, 30, {})), "");
  EXPECT_THAT(error_of(""), HasSubstr("no nodes"));
  EXPECT_THAT(error_of(metadata + node(1, 4, 30, {}) + "\x7f"), HasSubstr("cut off"));
  EXPECT_THAT(error_of(metadata + "\x01\x0f"), HasSubstr("damaged"));
  EXPECT_THAT(error_of(metadata + node(1, 4, 30, {}) + node(1, 4, 30, {})), HasSubstr("two nodes 1"));
  EXPECT_THAT(error_of(metadata + node(1, 4, 30, {2})), HasSubstr("waits for node 2, which is not there"));
  EXPECT_THAT(error_of(metadata + node(1, 4, ~std::uint64_t{0}, {})), HasSubstr("35 years"));
  const auto trace = ingest::read_execution_trace(metadata + node(1, 4, 30, {}), 0);
  ASSERT_TRUE(trace);
  EXPECT_THAT(jobs::executed_job({*trace, *trace}).error().message(), HasSubstr("two traces are of rank 0"));
}

}  // namespace
}  // namespace ridgeline::report
