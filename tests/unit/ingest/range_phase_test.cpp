#include "ingest/range_phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/nsys_text.h"
#include "ingest/range_words.h"

namespace ridgeline::ingest {
namespace {

RangePhase phase_of(std::string_view name) {
  TraceEvent event;
  event.kind = EventKind::kAnnotation;
  return phase_of_range(event, name, TraceSource::kNsightSystems);
}

TEST(RangePhase, SplitsNamesIntoWords) {
  using ::testing::ElementsAre;
  EXPECT_THAT(range_words("DataLoader_step12"), ElementsAre("data", "loader", "step"));
  EXPECT_THAT(range_words("H2D copy"), ElementsAre("h2d", "copy"));
  EXPECT_THAT(range_words("DDPForward #3"), ElementsAre("ddp", "forward"));
  EXPECT_THAT(range_words("DistributedDataParallel.forward"), ElementsAre("distributed", "forward"));
  EXPECT_THAT(range_words("__"), ElementsAre());
}

TEST(RangePhase, IsThatOfTheWordsAndNotOfTheirParts) {
  for (const char* name : {"data", "data copy in", "load batch", "next_batch", "DataLoader", "h2d", "x.to_device",
                           "get training data", "H2D", "wait for data"}) {
    EXPECT_EQ(phase_of(name), RangePhase::kData) << name;
  }
  for (const char* name :
       {"data_parallel_step", "DataParallel.forward", "metadata", "update_database", "batch norm", "optimal_transport",
        "adoption", "forward_backward", "step", "model update", "loader_free"}) {
    EXPECT_EQ(phase_of(name), RangePhase::kUnknown) << name;
  }
  for (const char* name : {"backward", "loss.backward", "bwd", "runBackward"}) {
    EXPECT_EQ(phase_of(name), RangePhase::kBackward) << name;
  }
  for (const char* name :
       {"optimizer", "opt_step", "opt.step", "zero_grad", "weight update", "OptimizerStep", "optimize"}) {
    EXPECT_EQ(phase_of(name), RangePhase::kOptimizer) << name;
  }
}

TEST(RangePhase, KnowsStepsByTheirWords) {
  for (const char* name : {"data_parallel_step", "TrainStep #", "train_batch", "run_training_batch"}) {
    EXPECT_TRUE(names_a_step(name)) << name;
  }
  for (const char* name : {"BatchNorm #", "batch_norm", "next_batch", "stepwise", "iterator"}) {
    EXPECT_FALSE(names_a_step(name)) << name;
  }
}

}  // namespace
}  // namespace ridgeline::ingest
