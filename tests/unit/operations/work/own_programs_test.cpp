// Which operations of a step programs are made for, and which are faster.
#include "operations/work/own_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::operations {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr const char* kOwnProduct = R"(["aten::mm.default",["t:float32:100,200:200,1","t:float32:200,50:50,1"],{}])";
constexpr const char* kOwnRelu = R"(["aten::relu.default",["t:float32:100,100:100,1"],{}])";
constexpr const char* kOwnOther = R"(["aten::cos.default",["t:float32:100,100:100,1"],{}])";

analysis::OperationCost own_cost(const char* key, double ms) { return {key, {.operations = 2, .ms = ms}}; }

/// An iteration takes 100 ms.
analysis::StepWork own_step() {
  analysis::StepWork work;
  work.lines.push_back({{"net.py", 1}, {}, {own_cost(kOwnProduct, 10), own_cost(kOwnRelu, 1.5)}});
  work.lines.push_back({{"net.py", 2}, {}, {own_cost(kOwnProduct, 30), own_cost(kOwnOther, 20)}});
  return work;
}

TEST(OwnPrograms, CandidatesTakeAConsiderablePartOfTheStep) {
  const auto found = program_candidates(own_step(), 100);
  ASSERT_EQ(found.size(), 1U);  // the other function is none of ours, and the ReLU takes 1.5 %
  EXPECT_EQ(found[0].key, kOwnProduct);
  EXPECT_EQ(found[0].ms, 40);
  EXPECT_EQ(found[0].calls, 4);
  EXPECT_EQ(found[0].location, (analysis::Location{"net.py", 2}));
  EXPECT_THAT(program_candidates(own_step(), 50),
              ElementsAre(Field(&ProgramCandidate::key, kOwnProduct), Field(&ProgramCandidate::key, kOwnRelu)));
}

TEST(OwnPrograms, WhatTookLongerAloneThanInTheStepWasDisturbed) {
  const ProgramCandidate candidate{kOwnProduct, {}, {}, 4, 40};  // 10 ms a call
  EXPECT_FALSE(is_disturbed(candidate, 12e6));
  EXPECT_TRUE(is_disturbed(candidate, 25e6));
}

TEST(OwnPrograms, WhatIsSavedIsOfTheLesserTime) {
  const ProgramCandidate candidate{kOwnProduct, {}, {}, 4, 40};
  EXPECT_DOUBLE_EQ(saved_ms(candidate, 12e6, 0.75), 10);
  EXPECT_DOUBLE_EQ(saved_ms(candidate, 2e6, 0.75), 2);
}

TEST(OwnPrograms, AProgramIsFasterWhereItsWholeIntervalIs) {
  EXPECT_TRUE((TimedProgram{kOwnProduct, "matmul 100 50 200", 0.7, 0.6, 0.8}.is_faster()));
  EXPECT_FALSE((TimedProgram{kOwnProduct, "matmul 100 50 200", 0.9, 0.7, 1}.is_faster()));
}

constexpr double kOwnCallNs = 10e6;  // as in the step

TEST(OwnPrograms, OnlyWhatIsFasterBeyondItsIntervalIsSaid) {
  TimedProgram product{kOwnProduct, "matmul 100 50 200", 0.75, 0.6, 0.8, kOwnCallNs};
  EXPECT_THAT(own_programs(own_step(), 100, std::vector{product}),
              ElementsAre(analysis::OwnProgram{{"net.py", 2}, "matmul 100 50 200", 40, 10, 0.75, 0.6, 0.8}));
  product.library_ns = 3 * kOwnCallNs;  // disturbed
  EXPECT_THAT(own_programs(own_step(), 100, std::vector{product}), IsEmpty());
  product = {kOwnProduct, "matmul 100 50 200", 0.9, 0.7, 1, kOwnCallNs};
  EXPECT_THAT(own_programs(own_step(), 100, std::vector{product}), IsEmpty());
  const TimedProgram relu{kOwnRelu, "elementwise 100 100 = relu(x)", 0.5, 0.4, 0.6, 1e5};
  EXPECT_THAT(own_programs(own_step(), 100, std::vector{relu}), IsEmpty());  // too little of the step
}

TEST(OwnPrograms, MostSavedComesFirst) {
  const std::vector<TimedProgram> timed = {{kOwnProduct, "product", 0.99, 0.98, 0.995, kOwnCallNs},
                                           {kOwnRelu, "relu", 0.1, 0.1, 0.1, 5e5}};
  EXPECT_THAT(own_programs(own_step(), 50, timed), ElementsAre(Field(&analysis::OwnProgram::operation, "relu"),
                                                               Field(&analysis::OwnProgram::operation, "product")));
}

}  // namespace
}  // namespace ridgeline::operations
