// A recorded job with other buckets of DistributedDataParallel.
#pragma once

#include <cstddef>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "jobs/replay/recorded_job.h"

namespace ridgeline::jobs {

/// What a bucket was in a step of a rank.
struct OldBucket {
  double bytes = 0;
  double alone_ns = 0;                  ///< RecordedCall::alone_ns
  step::TaskId host = 0;                ///< that called it
  std::vector<step::TaskId> results{};  ///< tasks of the thread that go on with its result
};

/// What one is to be.
struct NewBucket {
  double bytes = 0;
  double cost_ns = 0;     ///< from when the last rank has begun it and the one before is over
  step::TaskId host = 0;  ///< behind which it is called
  std::vector<step::TaskId>
      results{};  ///< tasks of the thread that wait for it; of one before `host`, the one behind that
};

/// By rank and step, from those that were; as many on each rank.
using BucketPlan =
    base::FunctionRef<std::vector<NewBucket>(std::size_t rank, std::size_t step, const std::vector<OldBucket>& old)>;

/// The all-reduces of the plan, one after the other, in place of those of the recorded buckets. Each begins as long
/// after its call, or after the one before, as the recorded ones of the rank did in the median. Fails where the job has
/// no buckets. Pure.
base::Result<RecordedJob> rebucketed(RecordedJob job, BucketPlan plan);

}  // namespace ridgeline::jobs
