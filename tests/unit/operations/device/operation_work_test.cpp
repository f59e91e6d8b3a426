#include "operations/device/operation_work.h"

#include <gtest/gtest.h>

#include <string>

#include "operations/device/matrix_work.h"

namespace ridgeline::operations {
namespace {

OperationWork work(const std::string& key) {
  const auto found = work_of(key);
  EXPECT_TRUE(found.has_value()) << key;
  return found.value_or(OperationWork{});
}

TEST(OperationWork, ProductsOfMatrices) {
  const OperationWork mm = work(R"(["aten::mm.default",["t:float32:4,8:8,1","t:float32:8,3:3,1"],{}])");
  EXPECT_EQ(mm.kind, OperationKind::kMatrix);
  EXPECT_EQ(mm.flops, 2 * 4 * 8 * 3);
  EXPECT_EQ(mm.read_bytes, 4 * (32 + 24));
  EXPECT_EQ(mm.written_bytes, 4 * 12);
  // The bias is expanded: 3 elements are stored.
  const OperationWork addmm =
      work(R"(["aten::addmm.default",["t:bfloat16:4,3:0,1","t:bfloat16:4,8:8,1","t:bfloat16:8,3:1,8"],{}])");
  EXPECT_EQ(addmm.flops, mm.flops);
  EXPECT_EQ(addmm.dtype, "bfloat16");
  EXPECT_EQ(addmm.read_bytes, 2 * (3 + 32 + 24));
  EXPECT_EQ(work(R"(["aten::bmm.default",["t:float32:5,4,8:32,8,1","t:float32:5,8,3:24,3,1"],{}])").flops,
            5 * mm.flops);
  EXPECT_EQ(work(R"(["aten::mv.default",["t:float32:4,8:8,1","t:float32:8:1"],{}])").flops, 64);
}

TEST(OperationWork, ConvolutionsWithStridesGroupsAndTransposed) {
  const std::string shapes = R"("t:float32:2,6,9,9:486,81,9,1","t:float32:8,3,3,3:27,9,3,1",null)";
  // Two groups, stride 2, padding 1: 5 x 5 outputs of 8 channels, each of 3 x 3 x 3 products.
  const OperationWork forward =
      work("[\"aten::convolution.default\",[" + shapes + ",[2,2],[1,1],[1,1],false,[0,0],2],{}]");
  EXPECT_EQ(forward.flops, 2.0 * 2 * 8 * 25 * 27);
  EXPECT_EQ(forward.written_bytes, 4.0 * 2 * 8 * 25);
  const OperationWork transposed = work(
      R"(["aten::convolution.default",["t:float32:2,6,5,5:150,25,5,1","t:float32:6,4,4,4:64,16,4,1",null,[2],[1],[1],true,[0],1],{}])");
  EXPECT_EQ(transposed.flops, 2.0 * 2 * 6 * 25 * 4 * 16);
  EXPECT_EQ(transposed.written_bytes, 4.0 * 2 * 4 * 10 * 10);
  const std::string gradient = R"("t:float32:2,8,5,5:200,25,5,1",)";
  const OperationWork backward = work("[\"aten::convolution_backward.default\",[" + gradient +
                                      R"("t:float32:2,6,9,9:486,81,9,1","t:float32:8,3,3,3:27,9,3,1",null)" +
                                      ",[2,2],[1,1],[1,1],false,[0,0],2,[true,true,false]],{}]");
  EXPECT_EQ(backward.flops, 2 * forward.flops);
}

TEST(OperationWork, NoAlgorithmOfAConvolutionNeedsLessThanOneProductForEachPhase) {
  const auto share = [](const std::string& stride, const std::string& width) {
    return least_share_of_flops(
        *parse_call(R"(["aten::convolution.default",["t:float32:2,6,9,9:486,81,9,1","t:float32:8,6,)" + width + "," +
                    width + R"(:54,9,3,1",null,)" + stride + ",[1,1],[1,1],false,[0,0],1],{}]"));
  };
  EXPECT_DOUBLE_EQ(share("[1,1]", "3"), 1.0 / 9);
  EXPECT_DOUBLE_EQ(share("[2]", "3"), 4.0 / 9);
  EXPECT_DOUBLE_EQ(share("[4,4]", "3"), 1);
  EXPECT_DOUBLE_EQ(share("[1,1]", "1"), 1);
  EXPECT_DOUBLE_EQ(least_share_of_flops(*parse_call(R"(["aten::mm.default",["t:float32:4,8:8,1"],{}])")), 1);
}

TEST(OperationWork, AttentionCountsTwoProductsAndFiveBackward) {
  const std::string qkv = R"("t:float32:2,4,16,8:512,128,8,1","t:float32:2,4,16,8:512,128,8,1",)"
                          R"("t:float32:2,4,16,8:512,128,8,1")";
  const double one = 2.0 * 2 * 4 * 16 * 16 * 8;
  EXPECT_EQ(work("[\"aten::_scaled_dot_product_flash_attention_for_cpu.default\",[" + qkv + "],{}]").flops, 2 * one);
  EXPECT_EQ(work("[\"aten::_scaled_dot_product_flash_attention_for_cpu_backward.default\",[" +
                 std::string(R"("t:float32:2,4,16,8:512,128,8,1",)") + qkv + "],{}]")
                .flops,
            5 * one);
}

TEST(OperationWork, ElementsReductionsAndData) {
  const OperationWork add = work(R"(["aten::add.Tensor",["t:float32:4,1:1,1","t:float32:1,8:8,1"],{}])");
  EXPECT_EQ(add.flops, 32);
  EXPECT_EQ(add.written_bytes, 4 * 32);
  EXPECT_EQ(add.read_bytes, 4 * 12);
  EXPECT_EQ(work(R"(["aten::relu_.default",["t:float32:4,8:8,1"],{}])").written_bytes, 128);
  EXPECT_EQ(work(R"(["aten::sum.default",["t:float32:4,8:8,1"],{}])").kind, OperationKind::kReduction);
  const OperationWork rows = work(R"(["aten::embedding.default",["t:float32:50000,64:64,1","t:int64:3,2:2,1"],{}])");
  EXPECT_EQ(rows.read_bytes, 6 * 64 * 4 + 6 * 8);
  EXPECT_EQ(rows.written_bytes, 6 * 64 * 4);
  // One element of each row is picked; the gradient is filled, and the probabilities are not read.
  const OperationWork loss =
      work(R"(["aten::nll_loss_forward.default",["t:float32:512,50257:50257,1","t:int64:512:1",null,1,-100],{}])");
  EXPECT_EQ(loss.bytes(), 512 * (4 + 8));
  const OperationWork gradient =
      work(R"(["aten::nll_loss_backward.default",["t:float32::","t:float32:512,50257:50257,1","t:int64:512:1",null,1,)"
           R"(-100,"t:float32::"],{}])");
  EXPECT_EQ(gradient.written_bytes, 512.0 * 50257 * 4);
  EXPECT_EQ(gradient.read_bytes, 512 * 8 + 2 * 4);
  const OperationWork pooled =
      work(R"(["aten::max_pool2d_with_indices.default",["t:float32:2,3,9,9:243,81,9,1",[3,3],[2,2],[1,1]],{}])");
  EXPECT_EQ(pooled.written_bytes, 2 * 3 * 25 * (4 + 8));
  EXPECT_EQ(pooled.flops, 2 * 3 * 25 * 9);
  const OperationWork whole = work(R"(["aten::avg_pool2d.default",["t:float32:2,3,8,8:192,64,8,1",[8,8]],{}])");
  EXPECT_EQ(whole.written_bytes, 2 * 3 * 4);
  const OperationWork cast = work(R"(["aten::_to_copy.default",["t:float32:4,8:8,1"],{"dtype":"d:bfloat16"}])");
  EXPECT_EQ(cast.written_bytes, 64);
  EXPECT_EQ(work(R"(["aten::t.default",["t:float32:4,8:8,1"],{}])").bytes(), 0);
  const OperationWork lists =
      work(R"(["aten::_foreach_add_.List",[["t:float32:3:1","t:float32:4:1"],["t:float32:3:1","t:float32:4:1"]],{}])");
  EXPECT_EQ(lists.flops, 7);
  EXPECT_EQ(lists.read_bytes, 4 * 14);
  EXPECT_EQ(lists.written_bytes, 4 * 7);
}

TEST(OperationWork, LossesReadTwoTensorsAndTheirGradientsWriteOne) {
  const std::string tensors = R"("t:float32:6,4:4,1","t:float32:6,4:4,1")";
  const OperationWork loss = work("[\"aten::mse_loss.default\",[" + tensors + "],{}]");
  EXPECT_EQ(loss.flops, 3 * 24);
  EXPECT_EQ(loss.read_bytes, 2 * 96);
  EXPECT_EQ(loss.written_bytes, 0);
  const OperationWork backward =
      work(R"(["aten::smooth_l1_loss_backward.default",["t:float32::",)" + tensors + ",1,1.0],{}]");
  EXPECT_EQ(backward.flops, 5 * 24);
  EXPECT_EQ(backward.read_bytes, 2 * 96 + 4);
  EXPECT_EQ(backward.written_bytes, 96);
  EXPECT_EQ(work(R"(["aten::upsample_nearest2d.default",["t:float32:2,3,4,4:48,16,4,1",[8,8],2.0,2.0],{}])").read_bytes,
            384);
}

TEST(OperationWork, WhatIsNoOperationOfOursHasNone) {
  for (const char* key :
       {"", "[]", "null", R"(["aten::mm.default",[],{}])", R"(["mine::mm.default",["t:float32:4,8:8,1"],{}])",
        R"(["aten::no_such.default",["t:float32:4,8:8,1"],{}])", R"(["aten::mm.default",["t:float32:4,x:8,1"],{}])",
        R"(["aten::mm.default",["t:float32:4,8:8,1","t:float32:7,3:3,1"],{}])",
        R"(["aten::add.Tensor",["t:float32:4,8:8"],{}])", R"(["aten::cat.default",[[[[[[[1]]]]]]],{}])",
        R"(["aten::convolution.default",["t:float32:4,8:8,1","t:float32:4,8:8,1"],{}])"}) {
    EXPECT_FALSE(work_of(std::string_view(key)).has_value()) << key;
  }
  EXPECT_FALSE(work_of("[\"aten::add.Tensor\",[" + std::string(100000, '[')).has_value());
}

}  // namespace
}  // namespace ridgeline::operations
