// PYTORCH_ALLOC_CONF. What torch 2.13 takes and refuses, and in which places it puts a list's figures, is as
// torch._C._accelerator_setAllocatorSettings() answers.
#include "analysis/allocator/caching_allocator_conf.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ridgeline::analysis {
namespace {

CachingAllocatorSettings parsed(std::string_view conf) {
  const auto settings = parse_allocator_conf(conf);
  EXPECT_TRUE(settings.has_value()) << conf << ": " << settings.error().message();
  return settings ? *settings : CachingAllocatorSettings{};
}

std::string refusal(std::string_view conf) {
  const auto settings = parse_allocator_conf(conf);
  EXPECT_FALSE(settings.has_value()) << conf;
  return settings.error().message();
}

TEST(AllocatorConf, NothingIsTheDefaults) {
  const CachingAllocatorSettings settings = parsed("");
  EXPECT_FALSE(settings.expandable_segments);
  EXPECT_EQ(settings.max_split_size_mb, std::nullopt);
  EXPECT_EQ(settings.per_process_memory_fraction, 1);
}

TEST(AllocatorConf, ReadsEveryOption) {
  const CachingAllocatorSettings settings = parsed(
      " max_split_size_mb : 128, max_non_split_rounding_mb:64,large_segment_size_mb:32 ,expandable_segments:True,"
      "garbage_collection_threshold:0.6,per_process_memory_fraction:0.5,roundup_power2_divisions:4,"
      "pinned_use_background_threads:True,backend:native,");
  EXPECT_EQ(settings.max_split_size_mb, 128);
  EXPECT_EQ(settings.max_non_split_rounding_mb, 64);
  EXPECT_EQ(settings.large_segment_size_mb, 32U);
  EXPECT_TRUE(settings.expandable_segments);
  EXPECT_EQ(settings.garbage_collection_threshold, 0.6);
  EXPECT_EQ(settings.per_process_memory_fraction, 0.5);
  EXPECT_TRUE(std::ranges::all_of(settings.roundup_power2_divisions, [](auto count) { return count == 4; }));
}

TEST(AllocatorConf, ReadsDivisionsBySize) {
  using Divisions = decltype(CachingAllocatorSettings::roundup_power2_divisions);
  EXPECT_EQ(parsed("roundup_power2_divisions:[256:2,512:4,>:8],max_split_size_mb:64").roundup_power2_divisions,
            (Divisions{2, 2, 2, 2, 2, 2, 2, 2, 2, 4, 8, 8, 8, 8, 8, 8}));
  EXPECT_EQ(parsed("roundup_power2_divisions:[4:2,64:8]").roundup_power2_divisions, (Divisions{2, 2, 2, 0, 0, 0, 8}));
  EXPECT_EQ(parsed("roundup_power2_divisions:[>:2]").roundup_power2_divisions[0], 2U);
  EXPECT_EQ(parsed("roundup_power2_divisions:[131072:2]").roundup_power2_divisions[15], 2U);
}

TEST(AllocatorConf, RefusesWhatItCannotRead) {
  for (const char* conf :
       {"max_split_size_mb:abc", "max_split_size_mb:", "max_split_size_mb", "expandable_segments:true",
        "roundup_power2_divisions:[3:8]", "roundup_power2_divisions:[8:3]",
        "roundup_power2_divisions:[8:", "roundup_power2_divisions:[8]", "max_split_size_mb:1",
        "garbage_collection_threshold:1.5", "large_segment_size_mb:-20"}) {
    EXPECT_NE(refusal(conf), "") << conf;
  }
  EXPECT_EQ(refusal("expandable_segments:true"), "the allocator's option expandable_segments cannot be read: true");
}

TEST(AllocatorConf, HasNoModelOfOtherAllocators) {
  EXPECT_EQ(refusal("backend:cudaMallocAsync"), "the allocator is cudaMallocAsync, which is not modelled");
}

}  // namespace
}  // namespace ridgeline::analysis
