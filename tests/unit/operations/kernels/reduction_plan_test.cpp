#include "operations/kernels/reduction_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "processor.h"

namespace ridgeline::operations {
namespace {

std::vector<ReductionPlan> reduction_plans(const std::string& operation, int threads, double vector_bytes = 64) {
  const auto shape = parse_reduction(operation);
  EXPECT_TRUE(shape.has_value()) << operation;
  const auto construction = construct_reduction(*shape, processor(vector_bytes), threads, 100);
  EXPECT_TRUE(construction.has_value());
  EXPECT_FALSE(construction->plans.empty());
  return construction->plans;
}

const std::vector<std::string> kOperations = {
    "reduce sum 512 1000 dim 1", "reduce mean 512 1000 dim 0", "reduce max 1 1 dim 0",   "reduce sum 1 1 dim 1",
    "reduce max 3 100000 dim 1", "reduce sum 100000 3 dim 0",  "reduce mean 7 33 dim 0", "reduce sum 2 200000 dim 0"};

TEST(ParseReduction, TextIsReadAndWritten) {
  for (const std::string& text : kOperations) {
    EXPECT_EQ(reduction_text(*parse_reduction(text)), text);
  }
  for (const char* bad : {"reduce sum 3 8", "reduce min 3 8 dim 0", "reduce sum 3 8 dim 2", "reduce sum 3 8 axis 0",
                          "reduce sum 0 8 dim 0", "reduce sum 99999 99999 dim 0", "reduce sum 3 8 dim 0 1"}) {
    EXPECT_FALSE(parse_reduction(bad).has_value()) << bad;
  }
}

TEST(ReductionPlan, PartsCoverEachResultOnce) {
  for (const std::string& operation : kOperations) {
    for (const double vector_bytes : {16.0, 64.0}) {
      for (const ReductionPlan& plan : reduction_plans(operation, 2, vector_bytes)) {
        SCOPED_TRACE(testing::Message() << operation << ", step " << plan.step_columns());
        EXPECT_LE(plan.threads, 2);
        EXPECT_GE(plan.threads * plan.part(), plan.shape.results());
        EXPECT_LT((plan.threads - 1) * plan.part(), plan.shape.results());
        EXPECT_TRUE(plan.shape.dim == 1 || plan.threads == 1 || plan.part() % plan.step_columns() == 0);
        EXPECT_LE(plan.step_rows * (plan.step_vectors + 1), 32);
      }
    }
  }
}

// So that rounding errors of a sum do not grow with all elements.
TEST(ReductionPlan, NoChunkAddsMoreThan128NumbersOneAfterTheOther) {
  for (const std::string& operation : kOperations) {
    for (const ReductionPlan& plan : reduction_plans(operation, 1)) {
      EXPECT_LE(plan.chunk, 128 * (plan.shape.dim == 1 ? plan.step_columns() : 1)) << operation;
      EXPECT_TRUE(plan.shape.dim == 0 || plan.chunk % plan.step_columns() == 0) << operation;
    }
  }
}

TEST(ReductionPlan, ThreadsAreNotStartedForLittleWork) {
  EXPECT_EQ(reduction_plans("reduce sum 8 100 dim 1", 2).front().threads, 1);
  EXPECT_EQ(reduction_plans("reduce sum 2000 1000 dim 1", 2).front().threads, 2);
}

TEST(ReductionPlan, ALargeMatrixIsBoundByTheMemory) {
  for (const char* operation : {"reduce sum 4096 4096 dim 1", "reduce max 4096 4096 dim 0"}) {
    const auto plan = reduction_plans(operation, 1).front();
    EXPECT_EQ(plan.slowest, "memory") << operation;
    EXPECT_GE(plan.ns, 4.0 * 4096 * 4096 / 5.0e10 * 1e9);
    EXPECT_LE(plan.ns, 1.1 * 4.0 * 4096 * 4096 / 5.0e10 * 1e9);
  }
}

TEST(ReductionPlan, FewAccumulatorsWaitForThemselves) {
  const auto plans = reduction_plans("reduce sum 8 160 dim 1", 1);
  EXPECT_GE(plans.front().step_rows * plans.front().step_vectors, 8);
  EXPECT_EQ(plans.back().step_rows * plans.back().step_vectors, 1);
  EXPECT_GT(plans.back().ns, plans.front().ns);
}

TEST(ReductionSource, AMaximumStartsFromMinusInfinity) {
  const std::string max = reduction_source(reduction_plans("reduce max 64 160 dim 1", 1).front());
  EXPECT_NE(max.find("__builtin_inff"), std::string::npos);
  EXPECT_NE(max.find("kIsMax = 1"), std::string::npos);
  EXPECT_NE(reduction_source(reduction_plans("reduce mean 64 160 dim 0", 1).front()).find("kMean = 1"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::operations
