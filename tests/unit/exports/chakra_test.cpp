// Execution traces of a recorded job, and the encoding that they are written in.
#include "exports/chakra.h"

#include <gmock/gmock.h>

#include "exports/protobuf_message.h"
#include "tests/unit/cluster/recorded_ddp.h"

namespace ridgeline::exports {
namespace {

using cluster::testing::DdpJob;
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
  for (const NamedFile& file : files) names.push_back(file.name);
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
  for (communication::RankRecord& rank : job.records) rank.groups.push_back({"pair", "gloo", {1}});
  job.records[0].groups.push_back({"alone", "gloo", {0}});
  const auto files = chakra_traces(job.records, *job.made());
  ASSERT_TRUE(files);
  EXPECT_EQ(files->back().content, R"({"1":[0],"2":[1]})"
                                   "\n");
}

TEST(Chakra, ACollectiveWithoutATypeIsRefused) {
  DdpJob job = two_buckets();
  for (communication::RankRecord& rank : job.records) rank.collectives[0].kind = communication::Kind::kOther;
  const auto files = chakra_traces(job.records, *job.made());
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message(), HasSubstr("rank 0 called a collective"));
}

}  // namespace
}  // namespace ridgeline::exports
