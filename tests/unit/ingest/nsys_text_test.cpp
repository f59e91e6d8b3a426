#include "ingest/nsys_text.h"

#include <gtest/gtest.h>

namespace ridgeline::ingest {
namespace {

TEST(NsysText, TakesOperationsApart) {
  const RangeText conv = range_text("aten::conv2d, seq = 12, op_id = 5, sizes = [[1, 3], []]");
  EXPECT_EQ(conv.name, "aten::conv2d");
  EXPECT_EQ(conv.sequence, 12);
  EXPECT_TRUE(conv.is_operation);
  EXPECT_FALSE(conv.is_autograd_node);
  EXPECT_TRUE(range_text("ConvolutionBackward0, seq = 12").is_autograd_node);
  EXPECT_FALSE(range_text("Backward pass").is_operation);
  EXPECT_FALSE(range_text("aten::view, op_id = 3").sequence >= 0);
  EXPECT_TRUE(range_text("autograd::engine::evaluate_function: AddBackward0").is_operation);
  EXPECT_FALSE(range_text("GraphCache::runGraphWithInputs").is_operation) << "no namespace of operators";
  EXPECT_FALSE(range_text("::").is_operation);
}

TEST(NsysText, KnowsCounters) {
  for (const char* text : {"step 12", "Batch#3", "iter_7", "step12", "data copy in 5", "ProfilerStep#9"}) {
    EXPECT_TRUE(has_counter(text)) << text;
  }
  for (const char* text : {"conv2", "AddmmBackward0", "forward", "", "12", "fc1"}) {
    EXPECT_FALSE(has_counter(text)) << text;
  }
  EXPECT_EQ(without_counter("data copy in 12"), "data copy in");
  EXPECT_EQ(without_counter("layer#3"), "layer");
  EXPECT_EQ(without_counter("forward"), "forward");
  EXPECT_EQ(range_family("epoch 1 step 23"), "epoch # step #");
}

TEST(NsysText, KnowsWhatIsCalledLikeAStep) {
  for (const char* text : {"step #", "train_step", "Iteration #", "Batch #", "epoch # step #", "ProfilerStep#"}) {
    EXPECT_TRUE(names_a_step(text)) << text;
  }
  for (const char* text : {"optimizer step", "Optimizer.step#SGD.step", "load batch #", "forward", "eval step #"}) {
    EXPECT_FALSE(names_a_step(text)) << text;
  }
  EXPECT_TRUE(names_an_epoch("Epoch #"));
}

TEST(NsysText, CutsVersionsOffCalls) {
  EXPECT_EQ(call_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(call_name("cudaStreamGetCaptureInfo_v2_v11030"), "cudaStreamGetCaptureInfo_v2");
  EXPECT_EQ(call_name("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(call_name("cuMemcpy_v2"), "cuMemcpy_v2");
}

TEST(NsysText, NamesCopiesAsTorchDoes) {
  EXPECT_EQ(copy_name(1, 0, 2), "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(copy_name(8, 2, 2), "Memcpy DtoD (Device -> Device)");
  EXPECT_EQ(copy_name(2, -1, 0), "Memcpy DtoH");
  EXPECT_EQ(copy_name(99, 99, 2), "Memcpy Unknown (Unknown -> Device)");
}

}  // namespace
}  // namespace ridgeline::ingest
