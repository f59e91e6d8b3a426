// Which of torch's operations become which of ours.
#include "operations/kernels/step_operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ridgeline::operations {
namespace {

using ::testing::ElementsAre;

std::optional<StepOperation> of(const std::string& key) {
  const auto call = parse_call(key);
  return call ? step_operation(*call) : std::nullopt;
}

std::string text(const std::string& key) {
  const auto found = of(key);
  return found ? operation_text(found->operation) : "none";
}

TEST(StepOperation, ProductsHaveTheSizesOfTheirMatrices) {
  EXPECT_EQ(text(R"(["aten::mm.default",["t:float32:8,20:1,8","t:float32:20,5:5,1"],{}])"), "matmul 8 5 20");
  EXPECT_EQ(text(R"(["aten::mm.default",["t:float32:8,20:20,1","t:float32:20,5:1,20"],{}])"), "linear 8 5 20");
  EXPECT_EQ(text(R"(["aten::mm.default",["t:float32:8,20:20,1","t:float32:20,5:10,1"],{}])"), "matmul 8 5 20");
  EXPECT_EQ(text(R"(["aten::bmm.default",["t:float32:3,8,20:160,20,1","t:float32:3,20,5:100,5,1"],{}])"),
            "bmm 3 8 5 20");
  const auto with_bias =
      of(R"(["aten::addmm.default",["t:float32:5:1","t:float32:8,20:20,1","t:float32:20,5:1,20"],{}])");
  ASSERT_TRUE(with_bias.has_value());
  EXPECT_EQ(operation_text(with_bias->operation), "linear 8 5 20 + bias");
  EXPECT_THAT(with_bias->operands, ElementsAre(1, 2, 0));
}

TEST(StepOperation, OtherProductsHaveNone) {
  EXPECT_EQ(text(R"(["aten::mm.default",["t:bfloat16:8,20:20,1","t:bfloat16:20,5:5,1"],{}])"), "none");
  EXPECT_EQ(text(R"(["aten::mm.default",["t:float32:8,20:20,1:cuda","t:float32:20,5:5,1:cuda"],{}])"), "none");
  EXPECT_EQ(text(R"(["aten::addmm.default",["t:float32:8,5:5,1","t:float32:8,20:20,1","t:float32:20,5:5,1"],{}])"),
            "none");  // its bias is a matrix
  EXPECT_EQ(text(R"(["aten::addmm.default",["t:float32:5:1","t:float32:8,20:20,1","t:float32:20,5:5,1"],{"beta":0}])"),
            "none");
}

TEST(StepOperation, ConvolutionsAreThoseOfSquareKernels) {
  const std::string images = R"(["aten::convolution.default",["t:float32:4,3,30,20:1800,600,20,1",)";
  EXPECT_EQ(text(images + R"("t:float32:8,3,3,3:27,9,3,1",null,[2,2],[1,1],[1,1],false,[0,0],1],{}])"),
            "conv 4 3 30 20 8 3 stride 2 padding 1");
  EXPECT_EQ(text(images + R"("t:float32:8,3,3,3:27,9,3,1","t:float32:8:1",[1,1],[0,0],[1,1],false,[0,0],1],{}])"),
            "conv 4 3 30 20 8 3 stride 1 padding 0 + bias");
  EXPECT_EQ(text(images + R"("t:float32:8,3,3,1:9,3,1,1",null,[1,1],[0,0],[1,1],false,[0,0],1],{}])"), "none");
  EXPECT_EQ(text(images + R"("t:float32:8,3,3,3:27,9,3,1",null,[1,2],[0,0],[1,1],false,[0,0],1],{}])"), "none");
  EXPECT_EQ(text(images + R"("t:float32:8,3,3,3:27,9,3,1",null,[1,1],[0,0],[2,2],false,[0,0],1],{}])"), "none");
  EXPECT_EQ(text(images + R"("t:float32:3,3,3,3:27,9,3,1",null,[1,1],[0,0],[1,1],true,[0,0],1],{}])"), "none");
  EXPECT_EQ(text(images + R"("t:float32:9,1,3,3:9,9,3,1",null,[1,1],[0,0],[1,1],false,[0,0],3],{}])"), "none");
}

TEST(StepOperation, FunctionsOfElementsAreOfMatrices) {
  EXPECT_EQ(text(R"(["aten::gelu.default",["t:float32:2,3,50:150,50,1"],{}])"), "elementwise 6 50 = gelu(x)");
  EXPECT_EQ(text(R"(["aten::gelu.default",["t:float32:2,3,50:150,50,1"],{"approximate":"s:tanh"}])"), "none");
  EXPECT_EQ(text(R"(["aten::mul.Tensor",["t:float32:6,50:50,1","t:float32:6,50:50,1"],{}])"),
            "elementwise 6 50 = x * y");
  EXPECT_EQ(text(R"(["aten::mul.Tensor",["t:float32:6,50:50,1","t:float32:50:1"],{}])"), "none");
  EXPECT_EQ(text(R"(["aten::mul.Tensor",["t:float32:6,50:50,1",0.5],{}])"), "none");
  EXPECT_EQ(text(R"(["aten::relu.default",["t:float32:6,50:1,6"],{}])"), "none");  // not contiguous
  EXPECT_EQ(text(R"(["aten::cos.default",["t:float32:6,50:50,1"],{}])"), "none");
}

TEST(StepOperation, ReductionsAreAlongTheFirstOrTheLastDimensions) {
  const std::string sum = R"(["aten::sum.dim_IntList",["t:float32:2,3,50:150,50,1",)";
  EXPECT_EQ(text(sum + "[0,1],true],{}]"), "reduce sum 6 50 dim 0");
  EXPECT_EQ(text(sum + "[-1]],{}]"), "reduce sum 6 50 dim 1");
  EXPECT_EQ(text(sum + "[1,2]],{}]"), "reduce sum 2 150 dim 1");
  EXPECT_EQ(text(sum + "[1]],{}]"), "none");
  EXPECT_EQ(text(sum + "[0,2]],{}]"), "none");
  EXPECT_EQ(text(sum + "[0,1,2]],{}]"), "none");  // one number
  EXPECT_EQ(text(R"(["aten::amax.default",["t:float32:6,50:50,1",[0]],{}])"), "reduce max 6 50 dim 0");
}

}  // namespace
}  // namespace ridgeline::operations
