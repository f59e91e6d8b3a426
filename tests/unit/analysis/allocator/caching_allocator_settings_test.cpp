#include "analysis/allocator/caching_allocator_settings.h"

#include <gtest/gtest.h>

namespace ridgeline::analysis {
namespace {

TEST(RoundedBytes, IsAMultipleOf512) {
  EXPECT_EQ(rounded_bytes(1, {}), 512U);
  EXPECT_EQ(rounded_bytes(512, {}), 512U);
  EXPECT_EQ(rounded_bytes(513, {}), 1024U);
  EXPECT_EQ(rounded_bytes(kMiB + 1, {}), kMiB + 512);
}

TEST(RoundedBytes, IsAStepBetweenPowersOfTwo) {
  CachingAllocatorSettings settings;
  settings.roundup_power2_divisions.fill(4);
  EXPECT_EQ(rounded_bytes(84 * kMiB, settings), 96 * kMiB);  // 64, 80, 96, 112, 128
  EXPECT_EQ(rounded_bytes(96 * kMiB, settings), 96 * kMiB);
  EXPECT_EQ(rounded_bytes(128 * kMiB, settings), 128 * kMiB);
  EXPECT_EQ(rounded_bytes(5000, settings), 5120U);  // 4096, 5120, ...
  EXPECT_EQ(rounded_bytes(2049, settings), 2560U);  // 2048, 2560, ...
  EXPECT_EQ(rounded_bytes(2047, settings), 2048U);  // up to 4 times 512: multiples of 512
  EXPECT_EQ(rounded_bytes(1100, settings), 1536U);
}

TEST(RoundedBytes, HasItsOwnStepsForEachPowerOfTwo) {
  // "[64:8,128:2,256:2,512:2,1024:1,>:1]" with the sizes and results of PyTorch's test/test_cuda.py.
  CachingAllocatorSettings settings;
  settings.roundup_power2_divisions = {8, 8, 8, 8, 8, 8, 8, 2, 2, 2, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(rounded_bytes(84 * kMiB, settings), 88 * kMiB);    // eighths of 64: 64, 72, 80, 88
  EXPECT_EQ(rounded_bytes(400 * kMiB, settings), 512 * kMiB);  // halves of 256: 256, 384, 512
  EXPECT_EQ(rounded_bytes(1025 * kMiB, settings), 1025 * kMiB);
  EXPECT_EQ(rounded_bytes(9000, settings), 9216U);  // below 1 MiB as from 1 MiB on: eighths of 8192
  EXPECT_EQ(rounded_bytes((70ULL << 30U) + 1, settings), (70ULL << 30U) + 512);
}

TEST(SegmentBytes, DependsOnTheSizeOfTheBlock) {
  EXPECT_EQ(segment_bytes(512, {}), 2 * kMiB);
  EXPECT_EQ(segment_bytes(kMiB, {}), 2 * kMiB);
  EXPECT_EQ(segment_bytes(kMiB + 512, {}), 20 * kMiB);
  EXPECT_EQ(segment_bytes(10 * kMiB - 512, {}), 20 * kMiB);
  EXPECT_EQ(segment_bytes(10 * kMiB, {}), 10 * kMiB);
  EXPECT_EQ(segment_bytes(10 * kMiB + 512, {}), 12 * kMiB);
}

TEST(CachingAllocatorSettings, AreRefusedWherePyTorchRefusesThem) {
  // As torch 2.13 answers torch._C._accelerator_setAllocatorSettings().
  const auto refused = [](auto set) {
    CachingAllocatorSettings settings;
    set(settings);
    return problem_with(settings).has_value();
  };
  using Settings = CachingAllocatorSettings;
  EXPECT_FALSE(refused([](Settings&) {}));
  EXPECT_TRUE(refused([](Settings& s) { s.large_segment_size_mb = 10; }));
  EXPECT_FALSE(refused([](Settings& s) { s.large_segment_size_mb = 11; }));
  EXPECT_TRUE(refused([](Settings& s) { s.max_split_size_mb = 19; }));
  EXPECT_FALSE(refused([](Settings& s) { s.max_split_size_mb = 20; }));
  EXPECT_TRUE(refused([](Settings& s) { s.large_segment_size_mb = 40, s.max_split_size_mb = 30; }));
  EXPECT_TRUE(refused([](Settings& s) { s.max_non_split_rounding_mb = 19; }));
  EXPECT_FALSE(refused([](Settings& s) { s.large_segment_size_mb = 15, s.max_non_split_rounding_mb = 16; }));
  EXPECT_TRUE(refused([](Settings& s) { s.roundup_power2_divisions[8] = 3; }));
  EXPECT_FALSE(refused([](Settings& s) { s.roundup_power2_divisions[8] = 4; }));
  EXPECT_TRUE(refused([](Settings& s) { s.garbage_collection_threshold = 1; }));
  EXPECT_FALSE(refused([](Settings& s) { s.garbage_collection_threshold = 0.5; }));
  EXPECT_TRUE(refused([](Settings& s) { s.per_process_memory_fraction = 1.5; }));
}

}  // namespace
}  // namespace ridgeline::analysis
