// Which functions of CUDA are watched, by the names that CUPTI has for them.
#include "profiler/agent/cupti/watched.h"

#include <gtest/gtest.h>

namespace ridgeline::agent::cupti {
namespace {

using recording::Call;

TEST(CuptiWatched, NamesAreThoseOfTheSource) {
  EXPECT_EQ(plain_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cuCtxSynchronize_v2"), "cuCtxSynchronize");
  EXPECT_EQ(plain_name("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(plain_name("__cudaLaunchKernel_v13000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cuLaunch"), "cuLaunch");
  EXPECT_EQ(plain_name("cuThing_v"), "cuThing_v");
  EXPECT_EQ(plain_name(""), "");
}

TEST(CuptiWatched, KindsOfCalls) {
  for (const char* name : {"cudaLaunchKernel_v7000", "cudaLaunchKernelExC_v11060", "cudaLaunchCooperativeKernel_v9000",
                           "cuLaunchKernel", "cuLaunchKernelEx_ptsz", "cudaGraphLaunch_v10000", "cuGraphLaunch_ptsz"}) {
    EXPECT_EQ(kind_of_call(name), Call::kLaunch) << name;
  }
  for (const char* name : {"cudaMemcpyAsync_v3020", "cudaMemcpy_v3020", "cudaMemsetAsync_ptsz_v7000", "cuMemcpyHtoD_v2",
                           "cuMemsetD8Async"}) {
    EXPECT_EQ(kind_of_call(name), Call::kCopy) << name;
  }
  for (const char* name : {"cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_ptsz_v7000", "cuCtxSynchronize",
                           "cuEventSynchronize", "cuCtxSynchronize_v2"}) {
    EXPECT_EQ(kind_of_call(name), Call::kSynchronise) << name;
  }
  for (const char* name : {"cudaMalloc_v3020", "cudaFree_v3020", "cuMemAlloc_v2", "cuMemCreate"}) {
    EXPECT_EQ(kind_of_call(name), Call::kOther) << name;
  }
}

TEST(CuptiWatched, FunctionsThatTakeNoTimeAreNot) {
  for (const char* name :
       {"cudaGetDevice_v3020", "cudaGetLastError_v3020", "cudaLaunchHostFunc_v10000", "cudaEventQuery_v3020",
        "cuMemGetInfo_v2", "cudaStreamIsCapturing_v10000", "cuMemSetAccess", "cudaGraphAddMemcpyNode_v10000", ""}) {
    EXPECT_FALSE(kind_of_call(name).has_value()) << name;
  }
}

TEST(CuptiWatched, FunctionsAreFoundByNumber) {
  Functions functions;
  functions.get_callback_name = [](std::uint32_t domain, std::uint32_t function, const char** name) -> Result {
    if (domain == kRuntimeDomain && function == 211) {
      *name = "cudaLaunchKernel_v7000";
    } else if (domain == kDriverDomain && function == 2) {
      *name = nullptr;
    } else {
      return 1;
    }
    return kSuccess;
  };
  const WatchedFunctions watched(functions);
  ASSERT_EQ(watched.all().size(), 1U);
  EXPECT_EQ(watched.all()[0].name, "cudaLaunchKernel");
  EXPECT_EQ(watched.find(kRuntimeDomain, 211), 0U);
  EXPECT_EQ(watched.find(kDriverDomain, 211), recording::kNone);
  EXPECT_EQ(watched.find(kRuntimeDomain, kMaxFunctions), recording::kNone);
  EXPECT_EQ(watched.find(0, 211), recording::kNone);
  EXPECT_EQ(watched.find(7, 211), recording::kNone);
  EXPECT_EQ(WatchedFunctions().find(kRuntimeDomain, 211), recording::kNone);
}

}  // namespace
}  // namespace ridgeline::agent::cupti
