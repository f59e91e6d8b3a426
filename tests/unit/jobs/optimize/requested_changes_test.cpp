#include "jobs/optimize/requested_changes.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "step/changes/change_table.h"
#include "tests/unit/jobs/replay/recorded_ddp.h"

namespace ridgeline::jobs {
namespace {

using testing::DdpJob;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RecordedJob job_of_two_buckets() { return *DdpJob({{200, 300}, {1000, 4000}, {1, 1}}).made(); }

TEST(RequestedChanges, EachRowOfAJobIsAChangeOfOne) {
  const RecordedJob job = job_of_two_buckets();
  for (const step::ChangeKind& kind : step::change_table()) {
    const auto changed = changed_job(job, {std::string(kind.name) + (kind.argument.empty() ? "" : ":wrong")});
    const std::string reason = changed ? "" : changed.error().message();
    if (!kind.fits(step::Subject::kJob)) {
      EXPECT_THAT(reason, HasSubstr("is no change of a recorded job")) << kind.name;
    } else if (!kind.argument.empty()) {
      EXPECT_THAT(reason, HasSubstr("expected ")) << kind.name;
    }
  }
}

TEST(RequestedChanges, ShardingIsReplayedWithBothEnds) {
  const auto changed = changed_job(job_of_two_buckets(), {"zero:1"});
  ASSERT_TRUE(changed) << changed.error().message();
  ASSERT_EQ(changed->jobs.size(), 3U);
  const auto likely = replay(changed->jobs[0]);
  const auto slow = replay(changed->jobs[1]);
  ASSERT_TRUE(likely && slow);
  EXPECT_LT(likely->step_ns[1][1], slow->step_ns[1][1]) << "the optimizer takes all of its time";
}

TEST(RequestedChanges, ASearchHasWhatIsAskedForBesidesUsualBuckets) {
  const auto usual = space_of({});
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->bucket_bytes, usual_space().bucket_bytes);
  const auto space =
      space_of({"bucket-size:1MiB", "accumulate:2", "accumulate:4", "compression:2", "zero:1", "fuse-pointwise"});
  ASSERT_TRUE(space) << space.error().message();
  EXPECT_THAT(space->bucket_bytes, ElementsAre(1U << 20U));
  EXPECT_THAT(space->accumulate, ElementsAre(2, 4));
  EXPECT_THAT(space->compression, ElementsAre(2));
  EXPECT_THAT(space->sharding, ElementsAre(1));
  EXPECT_TRUE(space->fuse);
  for (const auto& [change, reason] : {std::pair("zero:3", "zero:3: expected the stage of ZeRO, 1 or 2"),
                                       std::pair("accumulate", "accumulate: expected K"),
                                       std::pair("fuse-pointwise:2", "fuse-pointwise:2: takes no argument"),
                                       std::pair("pipeline:4", "pipeline:4 is no change of the search of a job"),
                                       std::pair("nothing", "no change is called nothing")}) {
    const auto refused = space_of({change});
    ASSERT_FALSE(refused) << change;
    EXPECT_THAT(refused.error().message(), HasSubstr(reason));
  }
}

}  // namespace
}  // namespace ridgeline::jobs
