#include "operations/kernels/elementwise_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "processor.h"

namespace ridgeline::operations {
namespace {

std::vector<ElementwisePlan> chain_plans(const std::string& operation, int threads, double vector_bytes = 64) {
  const auto shape = parse_elementwise(operation);
  EXPECT_TRUE(shape.has_value()) << operation;
  const auto construction = construct_elementwise(*shape, processor(vector_bytes), threads, 100);
  EXPECT_TRUE(construction.has_value());
  EXPECT_FALSE(construction->plans.empty());
  return construction->plans;
}

std::vector<std::string> steps_of(const std::string& expression) {
  const auto read = parse_expression(expression, 8);
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message());
  std::vector<std::string> steps;
  for (const Step& step : read ? read->steps : std::vector<Step>()) {
    steps.push_back(step_text(*read, step, "f"));
  }
  return steps;
}

TEST(ParseExpression, StepsFollowPrecedenceAndParentheses) {
  using Steps = std::vector<std::string>;
  EXPECT_EQ(steps_of("relu(x * y + z)"), (Steps{"x * y", "t0 + z", "relu(t1)"}));
  EXPECT_EQ(steps_of("x - y - z"), (Steps{"x - y", "t0 - z"}));
  EXPECT_EQ(steps_of("x/(y+b[8])"), (Steps{"y + b", "x / t0"}));
  EXPECT_EQ(steps_of("-x * 0.5"), (Steps{"-1.00000000f * x", "t0 * 0.500000000f"}));
  EXPECT_EQ(steps_of("x * (1 + 2 * 3)"), (Steps{"x * 7.00000000f"}));
  EXPECT_EQ(python_text(*parse_expression("gelu( x +  b[ 8 ])", 8)), "gelu( x + b)");
}

TEST(ParseExpression, OperandsAreKnownByTheirLetter) {
  const auto read = parse_expression("y * x + b[8] - y", 8);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->operands, (std::vector<Operand>{{'y', false}, {'x', false}, {'b', true}}));
}

TEST(ParseExpression, AnErrorSaysWhatIsWrongWhere) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "an operand, a number or a function is missing at 'its end'"},
      {"x", "there is nothing to compute"},
      {"2 * 3", "there is nothing to compute"},
      {"x +", "is missing at 'its end'"},
      {"x y", "an operator is missing at 'y'"},
      {"softmax(x)", "nor one of relu, sigmoid, tanh, exp, gelu at 'softmax(x)'"},
      {"relu(x", "')' is missing"},
      {"relu(2)", "a number instead of an operand"},
      {"x + b[9]", "a row has as many elements as the result has columns, 8"},
      {"x + x[8]", "'x' is a row in one place and a matrix in another"},
      {"x * 1e99", "a number is not finite"},
      {"x * (1 / 0)", "a number is not finite"},
      {"x; y", "an operator is missing at '; y'"},
      {std::string(500, '-') + "x", "at most 400 characters"}};
  for (const auto& [text, message] : bad) {
    const auto read = parse_expression(text, 8);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_NE(read.error().message().find(message), std::string::npos) << read.error().message();
  }
}

TEST(ParseElementwise, TextIsReadAndWritten) {
  for (const char* text : {"elementwise 3 8 = relu(x * y + b[8])", "elementwise 1 1 = x / 2"}) {
    EXPECT_EQ(elementwise_text(*parse_elementwise(text)), text);
  }
  for (const char* bad : {"elementwise 3 8", "elementwise 3 = x + y", "elementwise 0 8 = x + y",
                          "elementwise 3 8 = ", "elementwise 99999 99999 = x + y", "elementwise 3 8 = b[8] + 1"}) {
    EXPECT_FALSE(parse_elementwise(bad).has_value()) << bad;
  }
}

TEST(ElementwisePlan, AxesAreFusedWithoutOperandsOfOneRow) {
  EXPECT_EQ(chain_plans("elementwise 30 1003 = x + y", 1).front().columns, 30 * 1003);
  EXPECT_EQ(chain_plans("elementwise 30 1003 = x + b[1003]", 1).front().columns, 1003);
}

TEST(ElementwisePlan, PartsCoverEachElementOnce) {
  for (const char* operation :
       {"elementwise 30 1003 = x + y", "elementwise 31 1003 = x + b[1003]", "elementwise 1 9 = x + b[9]",
        "elementwise 1 1 = x + y", "elementwise 3 200000 = x * a[200000] + b[200000]"}) {
    for (const double vector_bytes : {16.0, 64.0}) {
      for (const ElementwisePlan& plan : chain_plans(operation, 2, vector_bytes)) {
        SCOPED_TRACE(testing::Message() << operation << ", step " << plan.step_columns());
        EXPECT_GE(plan.row_parts * plan.part_rows(), plan.rows);
        EXPECT_LT((plan.row_parts - 1) * plan.part_rows(), plan.rows);
        EXPECT_GE(plan.column_parts * plan.part_columns(), plan.columns);
        EXPECT_LT((plan.column_parts - 1) * plan.part_columns(), plan.columns);
        EXPECT_TRUE(plan.column_parts == 1 || plan.part_columns() % plan.step_columns() == 0);
        EXPECT_TRUE(plan.column_block >= plan.part_columns() || plan.column_block % plan.step_columns() == 0);
        EXPECT_LE(plan.threads, 2);
      }
    }
  }
}

TEST(ElementwisePlan, ThreadsAreNotStartedForLittleWork) {
  EXPECT_EQ(chain_plans("elementwise 8 100 = x + y", 2).front().threads, 1);
  EXPECT_EQ(chain_plans("elementwise 2000 1000 = x + y", 2).front().threads, 2);
  // Both numbers are tried.
  EXPECT_EQ(chain_plans("elementwise 8 100 = x + y", 2).back().threads, 2);
}

TEST(ElementwisePlan, ABlockOfLongRowsFillsL1) {
  const auto plans = chain_plans("elementwise 3 200000 = x * a[200000] + b[200000]", 1);
  EXPECT_EQ(plans.size(), 8U);
  EXPECT_LE(plans.front().column_block * 2 * 4, (48 << 10) / 2);
}

// 2^22 elements are in the memory: of each of two operands they are read, of the result read and written.
TEST(ElementwisePlan, AnAdditionIsBoundByWhereItsOperandsAre) {
  const auto plan = chain_plans("elementwise 2048 4096 = x + y", 1).front();
  EXPECT_EQ(plan.slowest, "memory");
  EXPECT_NEAR(plan.ns, 4 * 4.0 * 2048 * 4096 / 5.0e10 * 1e9, 1);
  EXPECT_EQ(chain_plans("elementwise 64 1000 = x + y", 1).front().slowest, "L2");
}

TEST(ElementwisePlan, FunctionsAreBoundByComputing) {
  const auto one = chain_plans("elementwise 64 100 = gelu(tanh(x))", 1).front();
  const auto two = chain_plans("elementwise 64 100 = gelu(tanh(sigmoid(x)))", 1).front();
  EXPECT_EQ(one.slowest, "compute");
  EXPECT_GT(two.ns, 1.3 * one.ns);
}

TEST(ElementwiseSource, HasTheFunctionsThatItUsesAndNoOthers) {
  const std::string source = elementwise_source(chain_plans("elementwise 3 8 = sigmoid(x) + b[8]", 1).front());
  EXPECT_NE(source.find("inline Vector sigmoid"), std::string::npos);
  EXPECT_NE(source.find("inline Vector exp"), std::string::npos);
  EXPECT_EQ(source.find("inline Vector tanh"), std::string::npos);
  EXPECT_EQ(source.find('@'), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::operations
