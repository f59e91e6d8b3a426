// Expandable segments of PyTorch's CUDA caching allocator, by cases computed by hand. Sizes are in MiB.
#include <gtest/gtest.h>

#include "analysis/allocator/caching_allocator.h"
#include "tests/unit/analysis/allocator/caching_allocator_cases.h"

namespace ridgeline::analysis {
namespace {

using testing::device_of;
using testing::expandable;
using testing::layout;
using testing::with;

TEST(ExpandableSegments, GrowByPages) {
  CachingAllocator allocator = with({15}, expandable());
  EXPECT_EQ(layout(allocator), "15* 5. -");
  EXPECT_TRUE(allocator.allocate(2, 10 * kMiB));  // 5 more, so a page of 20
  EXPECT_EQ(layout(allocator), "15* 10* 15. -");
  EXPECT_TRUE(allocator.allocate(3, kMiB));  // the small pool has pages of 2
  EXPECT_TRUE(allocator.allocate(4, kMiB));
  EXPECT_TRUE(allocator.allocate(5, 1));
  EXPECT_EQ(layout(allocator), "15* 10* 15. - | 1* 1* 512B* 2096640B. -");
  EXPECT_EQ(allocator.usage().reserved, 44 * kMiB);
}

TEST(ExpandableSegments, SplitOff512Bytes) {
  CachingAllocator allocator(expandable());
  EXPECT_TRUE(allocator.allocate(1, 20 * kMiB - 512));
  EXPECT_EQ(layout(allocator), "20971008B* 512B. -");
}

TEST(ExpandableSegments, AreUsedAtTheEndLast) {
  CachingAllocator allocator = with({12, 18}, expandable());
  allocator.free(1);
  EXPECT_EQ(layout(allocator), "12. 18* 10. -");
  EXPECT_TRUE(allocator.allocate(3, 8 * kMiB));  // 10 would fit better, but can become more
  EXPECT_EQ(layout(allocator), "8* 4. 18* 10. -");
}

TEST(ExpandableSegments, GiveBackWholePagesOnly) {
  CachingAllocator allocator = with({30, 10, 5}, expandable());
  EXPECT_EQ(layout(allocator), "30* 10* 5* 15. -");
  allocator.free(2);
  allocator.empty_cache();  // 10 from 30 on is half a page, and so is 15 from 45 on
  EXPECT_EQ(layout(allocator), "30* 10. 5* 15. -");
  allocator.free(1);
  allocator.empty_cache();
  EXPECT_EQ(layout(allocator), "- 5* 15. -");
  EXPECT_EQ(allocator.usage().reserved, 20 * kMiB);
  EXPECT_TRUE(allocator.allocate(4, 16 * kMiB));  // a hole at a lower address is filled before the end grows
  EXPECT_EQ(layout(allocator), "16* 4. - 5* 15. -");
}

TEST(ExpandableSegments, KeepTheEdgesOfAFreeBlock) {
  CachingAllocator allocator = with({5, 50, 5}, expandable());
  allocator.free(2);
  allocator.empty_cache();  // of 5 to 55 the page from 20 to 40
  EXPECT_EQ(layout(allocator), "5* 15. - 15. 5* -");
  EXPECT_TRUE(allocator.allocate(4, 50 * kMiB));  // mapped again, between the edges
  EXPECT_EQ(layout(allocator), "5* 50* 5* -");
}

TEST(ExpandableSegments, EndWhenNothingIsInThem) {
  CachingAllocator allocator = with({30}, expandable());
  allocator.free(1);
  allocator.empty_cache();
  EXPECT_EQ(layout(allocator), "");
}

TEST(ExpandableSegments, MovePagesWhereMemoryIsNeeded) {
  // 20 at both ends of 60 are free. 25 fit at neither end; unmapped and mapped anew behind the middle, 40 are enough.
  CachingAllocator allocator = with({20, 20, 20}, expandable(), {600 * kMiB, 60 * kMiB});
  allocator.free(1);
  allocator.free(3);
  CachingAllocator less = allocator;
  EXPECT_TRUE(allocator.allocate(4, 25 * kMiB));
  EXPECT_EQ(layout(allocator), "- 20* 25* 15. -");
  EXPECT_EQ(allocator.retries(), 1U);
  EXPECT_FALSE(less.allocate(4, 41 * kMiB));  // a page more
  EXPECT_EQ(layout(less), "- 20* -");
}

TEST(ExpandableSegments, FillADeviceToItsLastPage) {
  EXPECT_EQ(layout(with({30, 10}, expandable(), device_of(40))), "30* 10* -");
  CachingAllocator less = with({20}, expandable(), {50 * kMiB, 39 * kMiB});
  EXPECT_FALSE(less.allocate(2, 11 * kMiB));
  EXPECT_EQ(less.left(), 19 * kMiB);
}

TEST(ExpandableSegments, FillHolesAndGrowForOneBlock) {
  CachingAllocator allocator = with({20, 20}, expandable(), {60 * kMiB, 50 * kMiB});
  allocator.free(1);
  allocator.empty_cache();
  allocator.free(2);
  EXPECT_EQ(layout(allocator), "- 20. -");
  CachingAllocator enough = allocator;
  EXPECT_TRUE(enough.allocate(3, 40 * kMiB));
  EXPECT_EQ(layout(enough), "40* -");
  EXPECT_FALSE(allocator.allocate(3, 41 * kMiB));  // the hole is filled, but a page behind it is wanted, too
  EXPECT_EQ(allocator.usage().reserved, 0U);
}

TEST(ExpandableSegments, NeedAddressSpaceForTheWholeDevice) {
  CachingAllocator allocator(expandable(), device_of(60));
  EXPECT_FALSE(allocator.allocate(1, 200 * kMiB));
  EXPECT_EQ(allocator.usage(), MemoryUsage{});
  EXPECT_TRUE(allocator.allocate(2, 60 * kMiB));
}

TEST(ExpandableSegments, AreNotOnADeviceWithoutMemory) {
  CachingAllocator allocator(expandable(), device_of(0));
  EXPECT_FALSE(allocator.allocate(1, 1));
  EXPECT_FALSE(allocator.allocate(1, 100 * kMiB));
}

TEST(ExpandableSegments, AreLeftAloneWhenTheOptionIsOff) {
  CachingAllocator allocator = with({5, 5}, expandable());
  allocator.free(1);
  allocator.set({});
  EXPECT_TRUE(allocator.allocate(3, 5 * kMiB));
  EXPECT_EQ(layout(allocator), "5. 5* 10. - | 5* 15.");
  allocator.free(3);
  EXPECT_TRUE(allocator.allocate(4, 4 * kMiB));
  EXPECT_EQ(layout(allocator), "5. 5* 10. - | 4* 16.");
}

}  // namespace
}  // namespace ridgeline::analysis
