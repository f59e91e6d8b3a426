#include "analysis/device/lost_kernels.h"

#include <gtest/gtest.h>

#include "analysis/device/device_waits.h"
#include "tests/unit/analysis/analysed.h"

namespace ridgeline::analysis {
namespace {

using recording::Activity;
using recording::Call;
using testing::kNone;
using testing::RecordingBuilder;

/// One iteration of 1,000.
struct Story : RecordingBuilder {
  Story() { iteration(0, 1000); }

  std::uint32_t launch(std::uint64_t start, std::string_view name = "cudaLaunchKernel", Call kind = Call::kLaunch) {
    return call({kind, start, start + 10, kNone, 0, 0, name});
  }
  Launches launches() const { return count_launches(build()); }
};

TEST(LostKernels, AreLaunchesWithoutAKernel) {
  Story story;
  const std::uint32_t first = story.launch(100);
  story.launch(200);
  story.launch(300);
  const std::uint32_t last = story.launch(400, "cuLaunchKernelEx");
  story.launch(2000);  // behind the iteration
  story.activity({.start = 120, .end = 150, .call = first}).activity({.start = 1100, .end = 1200, .call = last});
  const Launches launches = story.launches();
  EXPECT_EQ(launches.count, 4U);
  EXPECT_EQ(launches.without_kernel, 2U);
  EXPECT_DOUBLE_EQ(launches.lost_share(), 0.5);
}

TEST(LostKernels, AreNotWhatLaunchesNoKernelThere) {
  Story story;
  story.launch(100, "cudaGraphLaunch");
  story.launch(120, "cudaLaunchHostFunc");
  story.launch(140, "cudaMemcpyAsync", Call::kCopy);
  story.launch(200, "cudaStreamBeginCapture", Call::kOther);
  story.launch(220);
  story.launch(240, "cudaStreamEndCapture", Call::kOther);
  const std::uint32_t after = story.launch(300);
  story.activity({.start = 320, .end = 330, .call = after});
  EXPECT_EQ(story.launches().count, 1U);
  EXPECT_EQ(story.launches().without_kernel, 0U);
}

TEST(LostKernels, ALaunchInsideAnotherIsPartOfIt) {
  Story story;
  story.call({Call::kLaunch, 100, 120});
  const std::uint32_t inner = story.call({Call::kLaunch, 105, 115});
  story.activity({.start = 130, .end = 140, .call = inner});
  EXPECT_EQ(story.launches().count, 1U);
  EXPECT_EQ(story.launches().without_kernel, 0U);
}

TEST(LostKernels, KernelsOfUnknownCallsMayBeOfAnyLaunch) {
  Story story;
  story.launch(100);
  story.launch(200);
  story.launch(300);
  story.activity({.start = 130, .end = 140}).activity({.start = 230, .end = 240});
  EXPECT_EQ(story.launches().without_kernel, 1U);
}

TEST(DevicePauses, AreLongStretchesWithoutOperations) {
  Story story;
  const std::uint32_t launch = story.launch(100);
  story.launch(600, "cudaMemcpyAsync", Call::kCopy);
  story.launch(640);
  story.activity({.start = 110, .end = 200, .call = launch});
  const testing::Analysed analysed(story);
  const DeviceWaits waits = find_device_waits(analysed.recording, analysed.attribution, analysed.timeline.tree, 0);
  EXPECT_DOUBLE_EQ(waits.ns[static_cast<std::size_t>(Wait::kIdle)], 100 + 400 + 30 + 350);
  EXPECT_DOUBLE_EQ(waits.pauses_ns, 100 + 400 + 350) << "30 of 1,000 is no long pause";
}

}  // namespace
}  // namespace ridgeline::analysis
