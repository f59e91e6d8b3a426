#include "ingest/recorded_key.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "operations/device/operation_work.h"

namespace ridgeline::ingest {
namespace {

TEST(RecordedKey, IsThatOfTheOperation) {
  EXPECT_EQ(recorded_key("aten::mm", {"[[8,16],[16,4]]", R"(["float","c10::BFloat16"])", "[[16,1],[1,16]]"}),
            R"(["aten::mm.default",["t:float32:8,16:16,1:cuda","t:bfloat16:16,4:1,16:cuda"],{}])");
  EXPECT_EQ(recorded_key("aten::add_", {"[[8,16],[],[]]", R"(["c10::Half","Scalar","Scalar"])", "[[16,1],[],[]]",
                                        R"(["","3.7","1"])"}),
            R"(["aten::add_.Scalar",["t:float16:8,16:16,1:cuda",0.5],{}])");
  EXPECT_EQ(recorded_key("aten::sum", {"[[8,16],[],[],[]]", R"(["float","ScalarList","Scalar",""])", "",
                                       R"(["","[0, -1]","True",""])"}),
            R"(["aten::sum.dim_IntList",["t:float32:8,16:16,1:cuda",[0,-1],true],{}])");
  EXPECT_EQ(recorded_key("aten::sum", {"[[8],[]]", R"(["float",""])", "", R"(["",""])"}),
            R"(["aten::sum.default",["t:float32:8:1:cuda"],{}])");
}

TEST(RecordedKey, HasNoDefaultsAndNoResult) {
  EXPECT_EQ(
      recorded_key("aten::addmm", {"[[4],[8,16],[16,4],[],[]]", R"(["float","float","float","Scalar","Scalar"])", "",
                                   R"(["","","","1","1"])"}),
      R"(["aten::addmm.default",["t:float32:4:1:cuda","t:float32:8,16:16,1:cuda","t:float32:16,4:4,1:cuda"],{}])");
  EXPECT_EQ(recorded_key("aten::copy_", {"[[8],[8],[]]", R"(["float","long int","Scalar"])", "", R"(["","","False"])"}),
            R"(["aten::copy_.default",["t:float32:8:1:cuda","t:int64:8:1:cuda"],{}])");
  EXPECT_EQ(recorded_key("aten::mul", {"[[8],[8],[8]]", R"(["float","float","float"])"}),
            R"(["aten::mul.Tensor",["t:float32:8:1:cuda","t:float32:8:1:cuda"],{}])")
      << "the third is where the result goes";
}

TEST(RecordedKey, AViewHasTheKeyOfTheOperation) {
  EXPECT_EQ(recorded_key("aten::t", {"[[8,16]]", R"(["float"])"}),
            R"(["aten::t.default",["t:float32:8,16:16,1:cuda"],{}])");
  EXPECT_EQ(
      recorded_key("aten::transpose", {"[[8,16],[],[]]", R"(["float","Scalar","Scalar"])", "", R"(["","0","1"])"}),
      R"(["aten::transpose.int",["t:float32:8,16:16,1:cuda",0,1],{}])");
  EXPECT_EQ(operations::work_of(*recorded_key("aten::detach", {"[[8]]", R"(["float"])"}))->kind,
            operations::OperationKind::kView);
}

/// An input of 2 × 3 × 8 × 8 and 5 filters of 3 × 3 with padding: 2 · 2 · 5 · 64 · 27 operations.
TEST(RecordedKey, CudnnAndMiopenHaveTheKeyOfAten) {
  const std::string of_cudnn =
      *recorded_key("aten::cudnn_convolution",
                    {"[[2,3,8,8],[5,3,3,3],[],[],[],[],[],[],[]]",
                     R"(["float","float","ScalarList","ScalarList","ScalarList","Scalar","Scalar","Scalar","Scalar"])",
                     "", R"(["","","[1, 1]","[1, 1]","[1, 1]","1","False","False","True"])"});
  const std::string of_miopen =
      *recorded_key("aten::miopen_convolution",
                    {"[[2,3,8,8],[5,3,3,3],[],[],[],[],[],[]]",
                     R"(["float","float","","ScalarList","ScalarList","ScalarList","Scalar","Scalar","Scalar"])", "",
                     R"(["","","","[1, 1]","[1, 1]","[1, 1]","1","False","False"])"});
  EXPECT_EQ(of_cudnn,
            R"(["aten::convolution.default",["t:float32:2,3,8,8:192,64,8,1:cuda","t:float32:5,3,3,3:27,9,3,1:cuda",)"
            R"(null,[1,1],[1,1],[1,1],false,[0,0],1],{}])");
  EXPECT_EQ(of_miopen, of_cudnn);
  EXPECT_EQ(operations::work_of(of_cudnn)->flops, 2.0 * 2 * 5 * 64 * 27);
  const auto backward =
      recorded_key("aten::cudnn_batch_norm_backward",
                   {"[[2,3,8,8],[2,3,4,4],[3],[3],[3],[3],[3],[],[0]]",
                    R"(["float","float","float","float","float","float","float","Double","unsigned char"])"});
  ASSERT_TRUE(backward.has_value());
  EXPECT_TRUE(backward->starts_with(R"(["aten::native_batch_norm_backward.default",["t:float32:2,3,4,4:)"))
      << *backward << ": the gradient comes first";
}

TEST(RecordedKey, NeedsWhatTheWorkDependsOn) {
  const RecordedInputs convolution{"[[2,3,8,8],[5,3,3,3],[],[],[],[],[],[],[]]",
                                   R"(["float","float","GenericList","GenericList","GenericList","Int","Bool","Bool",)"
                                   R"("Bool"])"};
  EXPECT_FALSE(recorded_key("aten::cudnn_convolution", convolution)) << "the stride was not recorded";
  EXPECT_TRUE(recorded_key("aten::threshold_backward", {"[[8],[8],[]]", R"(["float","float","Int"])"}));
  EXPECT_FALSE(recorded_key("aten::cat", {"[[[8],[8]],[]]", R"(["TensorList","Scalar"])"})) << "types are not recorded";
  EXPECT_FALSE(recorded_key("mine::op", {"[[8]]", R"(["float"])"}));
  EXPECT_FALSE(recorded_key("aten::mm", {"", ""})) << "recorded without shapes";
}

TEST(RecordedKey, WithoutAShapeThereIsNoKey) {
  const std::string types = R"(["float","float"])";
  for (const std::string_view sizes :
       {"[[8,16],[16", "{}", "[[8,-1],[16,4]]", "[[8,1.5],[16,4]]", "[8,16]", "[[8,16]]", "[[8],[8],[8],[8]]"}) {
    EXPECT_FALSE(recorded_key("aten::mm", {sizes, types})) << sizes;
  }
  EXPECT_FALSE(recorded_key("aten::mm", {"[[8,16],[16,4]]", types, "[[1],[1]]"})) << "strides of other tensors";
  const std::string nested = "[\"\",\"" + std::string(8000, '[') + std::string(8000, ']') + "\"]";
  EXPECT_EQ(recorded_key("aten::add", {"[[8],[]]", R"(["float","Scalar"])", "", nested}),
            R"(["aten::add.Scalar",["t:float32:8:1:cuda",null],{}])");
}

}  // namespace
}  // namespace ridgeline::ingest
