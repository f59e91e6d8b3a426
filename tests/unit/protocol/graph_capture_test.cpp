#include "protocol/graph_capture.h"

#include <gtest/gtest.h>

namespace ridgeline::recording {
namespace {

TEST(GraphCapture, IsOfOneThreadFromItsBeginToItsEnd) {
  GraphCapture capture;
  EXPECT_FALSE(capture.captures(1, "cudaLaunchKernel"));
  EXPECT_TRUE(capture.captures(1, "cudaStreamBeginCapture_v10010"));
  EXPECT_TRUE(capture.captures(1, "cudaLaunchKernel"));
  EXPECT_TRUE(capture.captures(1, "cudaStreamEndCapture_v10000"));
  EXPECT_FALSE(capture.captures(1, "cudaGraphLaunch_v10000"));
  EXPECT_TRUE(capture.captures(1, "cuStreamBeginCapture"));
  EXPECT_FALSE(capture.captures(2, "cudaLaunchKernel")) << "the record of a thread may end within";
}

}  // namespace
}  // namespace ridgeline::recording
