#include "report/rendered_best_strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What is said of a job whose fastest strategy has other buckets.
std::string text_of(double speed_up, std::uint64_t memory_bytes = 0) {
  analysis::OptimizedJob job;
  job.peak_bytes = 1000;
  analysis::StrategyStep best;
  best.bucket_bytes = 1U << 20U;
  best.step_ms = {10, 10, 10};
  best.speed_up = {speed_up, 0.9, 1.5};
  best.peak_bytes = 500;
  job.strategies = {best};
  job.edits = {{.path = {}, .before = {}, .after = "Construct it otherwise."}};
  if (memory_bytes > 0) {
    job.memory_bytes = memory_bytes;
  }
  return text_optimized_job(job);
}

TEST(OptimizedJob, OffersNoEditThatDoesNotPay) {
  EXPECT_THAT(text_of(1.2), HasSubstr("Construct it otherwise."));
  EXPECT_THAT(text_of(1.004), Not(HasSubstr("The edit")));
  EXPECT_THAT(text_of(1.004), HasSubstr("No strategy that was searched is faster"));
  EXPECT_THAT(text_of(0.8, 2000), Not(HasSubstr("The edit")));
  EXPECT_THAT(text_of(0.8, 800), HasSubstr("Construct it otherwise.")) << "the job as it is does not fit";
}

}  // namespace
}  // namespace ridgeline::report
