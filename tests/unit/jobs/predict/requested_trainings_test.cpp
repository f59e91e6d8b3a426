#include "jobs/predict/requested_trainings.h"

#include <gmock/gmock.h>

namespace ridgeline::jobs {
namespace {

using ::testing::HasSubstr;

TEST(RequestedTrainings, EachSizeIsPredictedAloneAndWithEachOtherChange) {
  const auto trainings =
      requested_trainings({"bucket-size:1MiB", "zero:1", "bucket-size:2MiB", "no-overlap", "pipeline:4"});
  ASSERT_TRUE(trainings) << trainings.error().message();
  std::vector<std::string> found;
  for (const TrainingRequest& one : trainings->data_parallel) {
    found.push_back(std::to_string(*one.bucket_bytes >> 20U) + (one.overlap ? "" : " after backward") +
                    (one.sharding > 0 ? " sharded" : ""));
  }
  EXPECT_THAT(found,
              ::testing::ElementsAre("1", "2", "1 after backward", "2 after backward", "1 sharded", "2 sharded"));
  ASSERT_EQ(trainings->pipelines.size(), 1U);
  EXPECT_EQ(trainings->pipelines.front().micro_batches, 4);
}

TEST(RequestedTrainings, WithoutChangesBucketsAreThoseOfDistributedDataParallel) {
  const auto trainings = requested_trainings({});
  ASSERT_TRUE(trainings);
  ASSERT_EQ(trainings->data_parallel.size(), 1U);
  EXPECT_FALSE(trainings->data_parallel.front().bucket_bytes.has_value());
}

TEST(RequestedTrainings, WhatIsNoneOfAClusterIsAnError) {
  for (const auto& [change, reason] :
       {std::pair("zero:4", "zero:4: expected the stage of ZeRO, 1 to 3"),
        std::pair("zero:1=8", "zero:1=8: expected the stage of ZeRO"),
        std::pair("bucket-size:0", "bucket-size:0: expected a size such as 25MiB"),
        std::pair("pipeline", "pipeline: expected the number of micro-batches"),
        std::pair("no-overlap:1", "no-overlap:1: takes no argument"),
        std::pair("amp",
                  "amp is no change of a job on a cluster, which has bucket-size:SIZE[,NOW], zero:STAGE[=N[,BYTES]], "
                  "no-overlap or pipeline:K"),
        std::pair("zerro:1", "no change is called zerro:1: `ridgeline what-if --list` names them all")}) {
    const auto refused = requested_trainings({change});
    ASSERT_FALSE(refused) << change;
    EXPECT_THAT(refused.error().message(), HasSubstr(reason));
  }
}

}  // namespace
}  // namespace ridgeline::jobs
