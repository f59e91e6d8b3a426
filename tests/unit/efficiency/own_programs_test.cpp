// Which operations of a step programs are made for, and which are faster.
#include "efficiency/own_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::efficiency {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

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

}  // namespace
}  // namespace ridgeline::efficiency
