// Each rule of PyTorch's CUDA caching allocator, by a case computed by hand. Sizes are in MiB unless they say
// otherwise.
#include "analysis/allocator/caching_allocator.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/allocator/caching_allocator_cases.h"

namespace ridgeline::analysis {
namespace {

using testing::device_of;
using testing::expandable;
using testing::layout;
using testing::unsplit_from;
using testing::with;

// ---- pools, best fit, splitting, merging ---------------------------------------------------------------------------

TEST(CachingAllocator, PacksSmallRequestsIntoTwoMiB) {
  CachingAllocator allocator = with({1, 1});
  EXPECT_EQ(layout(allocator), "1* 1*");
  EXPECT_TRUE(allocator.allocate(3, 1));
  EXPECT_EQ(layout(allocator), "1* 1* | 512B* 2096640B.");
  EXPECT_EQ(allocator.usage(), (MemoryUsage{2 * kMiB + 1, 2 * kMiB + 512, 2 * kMiB + 512, 4 * kMiB}));
}

TEST(CachingAllocator, PacksRequestsBelowTenMiBIntoTwenty) {
  EXPECT_EQ(layout(with({5, 9})), "5* 9* 6.");
  EXPECT_EQ(layout(with({9, 9, 9})), "9* 9* 2. | 9* 11.");
}

TEST(CachingAllocator, GivesLargeRequestsSegmentsOfTheirOwn) {
  EXPECT_EQ(layout(with({10, 11, 12, 100})), "10* | 12* | 12* | 100*");  // 11: a rest of 1 MiB is not split off
}

TEST(CachingAllocator, SplitsOffMoreThanAMiBInTheLargePool) {
  CachingAllocator allocator;
  EXPECT_TRUE(allocator.allocate(1, 11 * kMiB - 512));
  EXPECT_EQ(layout(allocator), "11533824B* 1049088B.");  // 11 MiB - 512 B, and a rest of 1 MiB + 512 B
  EXPECT_TRUE(allocator.allocate(2, 11 * kMiB));
  EXPECT_EQ(allocator.usage().allocated, 11 * kMiB - 512 + 12 * kMiB);
}

TEST(CachingAllocator, SplitsOff512BytesInTheSmallPool) {
  CachingAllocator allocator = with({1});
  EXPECT_TRUE(allocator.allocate(2, kMiB - 512));
  EXPECT_EQ(layout(allocator), "1* 1048064B* 512B.");
  EXPECT_TRUE(allocator.allocate(3, 512));
  EXPECT_EQ(allocator.usage().allocated, 2 * kMiB);
}

TEST(CachingAllocator, TakesTheSmallestBlockThatFits) {
  CachingAllocator allocator = with({6, 2, 5, 7});
  allocator.free(1);
  allocator.free(3);
  EXPECT_EQ(layout(allocator), "6. 2* 5. 7*");
  EXPECT_TRUE(allocator.allocate(9, 5 * kMiB));
  EXPECT_EQ(layout(allocator), "6. 2* 5* 7*");
}

TEST(CachingAllocator, TakesTheLowestAddressOfBlocksOfOneSize) {
  CachingAllocator allocator = with({5, 3, 5, 7});
  allocator.free(3);
  allocator.free(1);
  EXPECT_TRUE(allocator.allocate(9, 2 * kMiB));
  EXPECT_EQ(layout(allocator), "2* 3. 3* 5. 7*");
}

TEST(CachingAllocator, MergesAFreedBlockWithBothNeighbours) {
  CachingAllocator allocator = with({5, 5, 5, 5});
  allocator.free(1);
  allocator.free(3);
  EXPECT_EQ(layout(allocator), "5. 5* 5. 5*");
  allocator.free(2);
  EXPECT_EQ(layout(allocator), "15. 5*");
  allocator.free(4);
  EXPECT_EQ(layout(allocator), "20.");
  EXPECT_EQ(allocator.usage(), (MemoryUsage{0, 0, 0, 20 * kMiB}));
  EXPECT_EQ(allocator.peak(), (MemoryUsage{20 * kMiB, 20 * kMiB, 20 * kMiB, 20 * kMiB}));
}

TEST(CachingAllocator, NeverServesAPoolFromTheOther) {
  CachingAllocator allocator = with({5});
  EXPECT_TRUE(allocator.allocate(2, kMiB));
  EXPECT_EQ(layout(allocator), "5* 15. | 1* 1.");
}

TEST(CachingAllocator, NeverServesAStreamFromAnother) {
  CachingAllocator allocator = with({5});
  allocator.free(1);
  EXPECT_TRUE(allocator.allocate(2, 5 * kMiB, 7));
  EXPECT_EQ(layout(allocator), "20. | 5* 15.");
  EXPECT_TRUE(allocator.allocate(3, 6 * kMiB, 7));
  EXPECT_TRUE(allocator.allocate(4, 7 * kMiB));
  EXPECT_EQ(layout(allocator), "7* 13. | 5* 6* 9.");
}

// ---- requests ------------------------------------------------------------------------------------------------------

TEST(CachingAllocator, NeedsNothingForNoBytes) {
  CachingAllocator allocator(CachingAllocatorSettings{}, device_of(0));
  EXPECT_TRUE(allocator.allocate(1, 0));
  allocator.free(1);
  allocator.free(99);  // nobody's
  EXPECT_EQ(allocator.usage(), MemoryUsage{});
}

TEST(CachingAllocator, RefusesAnExbibyte) {
  CachingAllocator allocator = with({5});
  allocator.free(1);
  EXPECT_FALSE(allocator.allocate(2, 1ULL << 60U));
  EXPECT_FALSE(allocator.allocate(2, ~0ULL));
  EXPECT_EQ(layout(allocator), "20.");  // the cache stays as it is
}

TEST(CachingAllocator, FreesWhatIsAllocatedAnew) {
  CachingAllocator allocator = with({5});
  EXPECT_TRUE(allocator.allocate(1, 6 * kMiB));
  EXPECT_EQ(layout(allocator), "6* 14.");
}

TEST(CachingAllocator, KeepsActiveWhatAnotherStreamUses) {
  CachingAllocator allocator = with({7, 5});
  allocator.request_free(1);
  EXPECT_EQ(layout(allocator), "7? 5* 8.");
  EXPECT_EQ(allocator.usage(), (MemoryUsage{12 * kMiB, 5 * kMiB, 12 * kMiB, 20 * kMiB}));
  allocator.request_free(1);
  allocator.complete_free(2);  // was not freed
  EXPECT_EQ(layout(allocator), "7? 5* 8.");
  allocator.complete_free(1);
  allocator.complete_free(1);
  EXPECT_EQ(layout(allocator), "7. 5* 8.");
  EXPECT_EQ(allocator.usage(), (MemoryUsage{5 * kMiB, 5 * kMiB, 5 * kMiB, 20 * kMiB}));
}

TEST(CachingAllocator, WaitsForOtherStreamsBeforeItRunsOutOfMemory) {
  CachingAllocator allocator = with({20}, {}, device_of(30));
  allocator.request_free(1);
  EXPECT_TRUE(allocator.allocate(2, 30 * kMiB));
  EXPECT_EQ(layout(allocator), "30*");
  EXPECT_EQ(allocator.retries(), 1U);
}

TEST(CachingAllocator, IsAValue) {
  CachingAllocator one = with({5, 5}, expandable());
  CachingAllocator other = one;
  one.free(1);
  EXPECT_TRUE(other.allocate(3, 5 * kMiB));
  EXPECT_EQ(layout(one), "5. 5* 10. -");
  EXPECT_EQ(layout(other), "5* 5* 5* 5. -");
}

// ---- out of memory -------------------------------------------------------------------------------------------------

TEST(CachingAllocator, FillsADeviceToItsLastPage) {
  EXPECT_EQ(layout(with({9, 12}, {}, device_of(32))), "9* 11. | 12*");
  CachingAllocator less = with({9}, {}, device_of(30));
  EXPECT_FALSE(less.allocate(2, 12 * kMiB));
  EXPECT_EQ(layout(less), "9* 11.");
  EXPECT_EQ(less.left(), 10 * kMiB);
  EXPECT_TRUE(less.allocate(3, 11 * kMiB));  // the state is still good
}

TEST(CachingAllocator, GivesCachedSegmentsBackBeforeItRunsOutOfMemory) {
  CachingAllocator allocator = with({20, 1}, {}, device_of(32));
  allocator.free(1);
  EXPECT_TRUE(allocator.allocate(3, 30 * kMiB));  // 20 + 2 + 30 do not fit, 2 + 30 do
  EXPECT_EQ(layout(allocator), "1* 1. | 30*");
  EXPECT_EQ(allocator.retries(), 1U);
  EXPECT_EQ(allocator.peak().reserved, 32 * kMiB);
}

TEST(CachingAllocator, CannotGiveBackWhatIsPartlyInUse) {
  CachingAllocator allocator = with({19, 1, 1}, {}, device_of(42));
  allocator.free(1);
  EXPECT_TRUE(allocator.allocate(4, 5 * kMiB));
  EXPECT_EQ(layout(allocator), "5* 15. | 1* 1*");  // 19 was a segment of 20
  EXPECT_FALSE(allocator.allocate(5, 21 * kMiB));  // of 22, where 20 are left, and 15 are free
  EXPECT_TRUE(allocator.allocate(5, 20 * kMiB));
}

TEST(CachingAllocator, RunsOutOfMemoryAtTheAllowedPart) {
  CachingAllocatorSettings settings;
  settings.per_process_memory_fraction = 0.5;
  CachingAllocator allocator(settings, device_of(100));
  EXPECT_TRUE(allocator.allocate(1, 50 * kMiB));
  EXPECT_FALSE(allocator.allocate(2, 1));
  EXPECT_TRUE(allocator.allocate(1, 30 * kMiB));  // in the segment of 50: freed first
  EXPECT_EQ(layout(allocator), "30* 20.");
}

TEST(CachingAllocator, EmptiesItsCache) {
  CachingAllocator allocator = with({20, 12, 1});
  allocator.free(1);
  allocator.free(3);
  allocator.request_free(2);
  allocator.empty_cache();  // waits for the other stream
  EXPECT_EQ(layout(allocator), "");
  EXPECT_EQ(allocator.usage(), MemoryUsage{});
  EXPECT_EQ(allocator.retries(), 0U);
}

// ---- fragmentation -------------------------------------------------------------------------------------------------

TEST(CachingAllocator, ReservesMoreThanIsAllocatedWhereHolesAreTooSmall) {
  CachingAllocator allocator = with({5, 5, 5, 5, 5, 5, 5, 5});
  for (const std::uint64_t id : {1U, 3U, 5U, 7U}) {
    allocator.free(id);
  }
  EXPECT_TRUE(allocator.allocate(9, 10 * kMiB));
  EXPECT_EQ(layout(allocator), "5. 5* 5. 5* | 5. 5* 5. 5* | 10*");
  EXPECT_EQ(allocator.usage().allocated, 30 * kMiB);
  EXPECT_EQ(allocator.usage().reserved, 50 * kMiB);
}

TEST(CachingAllocator, KeepsASegmentForEachSizeOfAGrowingBatchUnlessSegmentsExpand) {
  CachingAllocator fixed;
  CachingAllocator growing(expandable());
  for (const std::uint64_t size : {22U, 24U, 26U, 28U}) {
    for (CachingAllocator* allocator : {&fixed, &growing}) {
      EXPECT_TRUE(allocator->allocate(1, size * kMiB));
      allocator->free(1);
    }
  }
  EXPECT_EQ(layout(fixed), "22. | 24. | 26. | 28.");
  EXPECT_EQ(layout(growing), "40. -");
  EXPECT_EQ(fixed.peak().allocated, 28 * kMiB);
  EXPECT_EQ(fixed.peak().reserved, 100 * kMiB);
  EXPECT_EQ(growing.peak().reserved, 40 * kMiB);
}

// ---- max_split_size_mb ---------------------------------------------------------------------------------------------

TEST(CachingAllocator, DoesNotSplitBlocksFromTheLimitOn) {
  CachingAllocator allocator = with({60}, unsplit_from(40));
  allocator.free(1);
  EXPECT_TRUE(allocator.allocate(2, 39 * kMiB));  // below the limit: nothing of what is not to be split
  EXPECT_EQ(layout(allocator), "60. | 40*");
  EXPECT_TRUE(allocator.allocate(3, 40 * kMiB));  // 60 is 20 too much: the limit of max_non_split_rounding_mb
  EXPECT_EQ(layout(allocator), "60. | 40* | 40*");
  EXPECT_TRUE(allocator.allocate(4, 42 * kMiB));
  EXPECT_EQ(layout(allocator), "60* | 40* | 40*");
  EXPECT_EQ(allocator.usage().allocated, 140 * kMiB);
}

TEST(CachingAllocator, GivesBackOneLargeBlockWhereThatIsEnough) {
  CachingAllocator allocator = with({60, 90, 30}, unsplit_from(40), device_of(190));
  allocator.free(1);
  allocator.free(2);
  allocator.free(3);
  EXPECT_TRUE(allocator.allocate(4, 62 * kMiB));  // 180 + 62 do not fit; the smallest of at least 62 is 90
  EXPECT_EQ(layout(allocator), "60. | 30. | 62*");
  EXPECT_EQ(allocator.retries(), 0U);
}

TEST(CachingAllocator, GivesBackSeveralLargeBlocksFromTheLargestOn) {
  CachingAllocator allocator = with({40, 50, 60, 30}, unsplit_from(40), device_of(180));
  for (const std::uint64_t id : {1U, 2U, 3U, 4U}) {
    allocator.free(id);
  }
  EXPECT_TRUE(allocator.allocate(5, 100 * kMiB));  // 60 and 50 are enough
  EXPECT_EQ(layout(allocator), "40. | 30. | 100*");
  EXPECT_EQ(allocator.retries(), 0U);
  EXPECT_TRUE(allocator.allocate(6, 80 * kMiB));  // 40 are not: then all
  EXPECT_EQ(layout(allocator), "100* | 80*");
  EXPECT_EQ(allocator.retries(), 1U);
}

// ---- garbage_collection_threshold ----------------------------------------------------------------------------------

/// 10, 12 and 14 were allocated; 10 and 14 are free, 10 for two searches, 14 for one, when 16 are asked for.
CachingAllocator after_garbage(double fraction, double threshold) {
  CachingAllocatorSettings settings;
  settings.per_process_memory_fraction = fraction;
  settings.garbage_collection_threshold = threshold;
  CachingAllocator allocator = with({10, 12, 14}, settings, device_of(104));
  allocator.free(1);
  allocator.free(3);
  EXPECT_TRUE(allocator.allocate(3, 14 * kMiB));
  allocator.free(3);
  EXPECT_TRUE(allocator.allocate(4, 16 * kMiB));
  return allocator;
}

TEST(CachingAllocator, CollectsTheOldestGarbageFirst) {
  // 52 are allowed, and 26 the threshold: of 36, 10 are too much, which the block older than the average makes up.
  EXPECT_EQ(layout(after_garbage(0.5, 0.5)), "12* | 14. | 16*");
}

TEST(CachingAllocator, CollectsGarbageUntilTheThreshold) {
  EXPECT_EQ(layout(after_garbage(0.5, 0.25)), "12* | 16*");              // 13: both
  EXPECT_EQ(layout(after_garbage(0.5, 0.75)), "10. | 12* | 14. | 16*");  // 39: none
}

TEST(CachingAllocator, CollectsNoGarbageWhereAllMemoryIsAllowed) {
  EXPECT_EQ(layout(after_garbage(1, 0.25)), "10. | 12* | 14. | 16*");
}

// ---- what PyTorch's own tests expect of a GPU (test/test_cuda.py) ---------------------------------------------------

TEST(CachingAllocator, MixesBothKindsOfSegmentsWithAMaximumSplitSize) {  // test_max_split_expandable
  CachingAllocatorSettings fixed = unsplit_from(40);
  fixed.per_process_memory_fraction = 0.5;
  CachingAllocatorSettings growing = fixed;
  growing.expandable_segments = true;
  CachingAllocator allocator(fixed, device_of(240));  // 120 are allowed
  EXPECT_TRUE(allocator.allocate(1, 40 * kMiB));
  allocator.set(growing);
  EXPECT_TRUE(allocator.allocate(2, 40 * kMiB));
  allocator.set(fixed);
  EXPECT_TRUE(allocator.allocate(3, 40 * kMiB));
  EXPECT_FALSE(allocator.allocate(4, 40 * kMiB));
  EXPECT_EQ(layout(allocator), "40* | 40* - | 40*");
  for (const std::uint64_t id : {1U, 2U, 3U}) {
    allocator.free(id);
  }
  EXPECT_TRUE(allocator.allocate(5, 120 * kMiB));
  EXPECT_EQ(layout(allocator), "120*");
}

TEST(CachingAllocator, CollectsGarbageBesideExpandableSegments) {  // test_garbage_collect_expandable
  CachingAllocatorSettings fixed;
  fixed.per_process_memory_fraction = 0.5;
  fixed.garbage_collection_threshold = 0.5;
  CachingAllocatorSettings growing = fixed;
  growing.expandable_segments = true;
  CachingAllocator allocator(fixed, device_of(240));
  EXPECT_TRUE(allocator.allocate(1, 40 * kMiB));
  allocator.set(growing);
  EXPECT_TRUE(allocator.allocate(2, 40 * kMiB));
  allocator.free(1);
  allocator.free(2);
  EXPECT_TRUE(allocator.allocate(3, 80 * kMiB));
  EXPECT_EQ(layout(allocator), "80* -");
}

// ---- what was seen of real allocators ------------------------------------------------------------------------------

/// How much more was reserved for a request: figures that traces of GPUs tell, which others published.
TEST(CachingAllocator, TakesFromTheDriverWhatRealOnesTook) {
  struct Seen {
    std::uint64_t bytes;
    std::uint64_t more;
  };
  for (const Seen& seen :
       {Seen{1'048'576, 2'097'152}, Seen{8'519'680, 20'971'520}, Seen{33'554'432, 33'554'432},
        Seen{41'943'040, 41'943'040}, Seen{134'217'728, 134'217'728}, Seen{268'435'456, 268'435'456},
        Seen{17'280'000, 18'874'368}, Seen{518'400'000, 520'093'696}, Seen{3'276'800'000, 3'277'848'576}}) {
    CachingAllocator allocator;
    EXPECT_TRUE(allocator.allocate(1, seen.bytes));
    EXPECT_EQ(allocator.usage().reserved, seen.more) << seen.bytes;
  }
}

TEST(CachingAllocator, PlacesBlocksWhereRealOnesDid) {
  CachingAllocator allocator;
  EXPECT_TRUE(allocator.allocate(1, 8'519'680));
  EXPECT_TRUE(allocator.allocate(2, 4'194'304));  // two more in the 20 MiB, one behind the other
  EXPECT_TRUE(allocator.allocate(3, 4'194'304));
  EXPECT_EQ(layout(allocator), "8519680B* 4* 4* 4063232B.");
  allocator = CachingAllocator();
  EXPECT_TRUE(allocator.allocate(1, 3'276'800'000));  // a rest of exactly 1 MiB stays with the block
  EXPECT_EQ(allocator.usage().allocated, 3'277'848'576U);
  allocator = with({40, 256});
  allocator.free(1);
  allocator.free(2);
  EXPECT_TRUE(allocator.allocate(3, 32 * kMiB));  // the freed 40 MiB serve it, not the larger block
  EXPECT_EQ(layout(allocator), "32* 8. | 256.");
}

}  // namespace
}  // namespace ridgeline::analysis
