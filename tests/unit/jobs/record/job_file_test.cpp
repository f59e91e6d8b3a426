// The file of a job: what is written is read, and what is damaged is refused.
#include "jobs/record/job_file.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "jobs/record/record_json.h"

namespace ridgeline::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RankRecord record_of(int rank, std::vector<std::int64_t> steps = {7, 8}) {
  RankRecord record{rank, 2, "host", {{"0", "gloo", {0, 1}}}};
  std::int64_t time = std::int64_t{1000} * (rank + 1);
  for (const std::int64_t step : steps) {
    record.iterations.push_back({step, time, time + 100});
    time += 200;
  }
  Collective one;
  one.kind = CollectiveKind::kAllReduce;
  one.sequence = 41;
  one.bytes = 4096;
  one.dtype = "float32";
  one.called_ns = 1010;
  one.started_ns = 1020;
  one.ended_ns = 1050;
  one.waited_ns = 12;
  one.iteration = 1;
  one.bucket = 2;
  one.parameters = {"out.weight"};
  one.parameter_bytes = {4000};
  one.file = "/project/train.py";
  one.line = 12;
  record.collectives = {one};
  record.transfers = {{0, true, 1 - rank, 3, 2048, 1021, 1040}};
  return record;
}

Job job_of_two() {
  Job job;
  job.command = "torchrun train.py";
  job.torch = "2.13.0";
  job.scope = {"/project", {"/env"}, {}};
  job.warnings = {"A warning."};
  for (int rank = 0; rank < 2; ++rank) {
    job.ranks.push_back({record_of(rank), 16, {5e6, 6e6}, 1e5, std::make_shared<const std::string>(30, 'a' + rank)});
  }
  return job;
}

std::string problem_of(const std::string& bytes) {
  const auto job = parse_job(bytes);
  return job ? "" : job.error().message();
}

TEST(JobFile, IsReadAsItWasWritten) {
  const Job job = job_of_two();
  const auto read = parse_job(serialise_job(job));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(serialise_job(*read), serialise_job(job));
  ASSERT_EQ(read->ranks.size(), 2U);
  EXPECT_EQ(read->scope.project_root, "/project");
  const JobRank& rank = read->ranks[1];
  EXPECT_EQ(*rank.recording, *job.ranks[1].recording);
  EXPECT_EQ(rank.record.iterations[1].step, 8);
  EXPECT_EQ(rank.record.collectives[0].sequence, 41U);
  EXPECT_EQ(rank.record.collectives[0].waited_ns, 12);
  EXPECT_THAT(rank.record.collectives[0].parameters, ElementsAre("out.weight"));
  EXPECT_THAT(rank.record.collectives[0].parameter_bytes, ElementsAre(4000));
  EXPECT_EQ(rank.record.transfers[0].bytes, 2048U);
  EXPECT_TRUE(rank.record.transfers[0].sends);
}

TEST(JobFile, IsRefusedWhereItIsCutOffOrDamaged) {
  const std::string bytes = serialise_job(job_of_two());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(problem_of(bytes.substr(0, size)), "") << size;
  }
  EXPECT_THAT(problem_of(bytes.substr(0, bytes.size() / 2)), HasSubstr("cut off or damaged"));
  for (const std::size_t at : {30UL, bytes.size() / 2, bytes.size() - 20}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_THAT(problem_of(damaged), HasSubstr("cut off or damaged")) << at;
  }
  EXPECT_THAT(problem_of("{}"), HasSubstr("not the file of a job"));
}

TEST(JobFile, NamesAnotherVersion) {
  std::string bytes = serialise_job(job_of_two());
  bytes[8] = 9;
  EXPECT_THAT(problem_of(bytes), HasSubstr("version 9"));
}

TEST(JobFile, IsRefusedWhereAnIndexIsOutOfRange) {
  const auto refused = [](auto damage) {
    Job job = job_of_two();
    damage(job.ranks[0].record);
    return problem_of(serialise_job(job));
  };
  EXPECT_THAT(refused([](RankRecord& one) { one.collectives[0].group = 1; }), HasSubstr("a group that does not exist"));
  EXPECT_THAT(refused([](RankRecord& one) { one.collectives[0].iteration = 2; }),
              HasSubstr("an iteration that does not exist"));
  EXPECT_THAT(refused([](RankRecord& one) { one.transfers[0].collective = 1; }),
              HasSubstr("a collective that does not exist"));
  EXPECT_THAT(refused([](RankRecord& one) { one.transfers[0].peer = 2; }), HasSubstr("not a rank of the job"));
  EXPECT_THAT(refused([](RankRecord& one) { one.transfers[0].ended_ns = 1; }), HasSubstr("ends before"));
  EXPECT_THAT(refused([](RankRecord& one) { one.rank = 5; }), HasSubstr("not one of the job's"));
  EXPECT_THAT(refused([](RankRecord& one) { one.rank = 1; }), HasSubstr("not in order"));
}

TEST(CommonSteps, AreThoseThatAllRanksRecorded) {
  EXPECT_THAT(common_steps({record_of(0, {7, 8, 9}), record_of(1, {8, 9, 10})}), ElementsAre(8, 9));
  EXPECT_TRUE(common_steps({record_of(0, {7}), record_of(1, {8})}).empty());
}

}  // namespace
}  // namespace ridgeline::jobs
