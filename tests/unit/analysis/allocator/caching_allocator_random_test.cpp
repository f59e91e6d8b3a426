// What holds of the modelled CUDA caching allocator whatever is asked of it.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "analysis/allocator/caching_allocator.h"
#include "tests/unit/analysis/allocator/caching_allocator_cases.h"

namespace ridgeline::analysis {
namespace {

using testing::Case;
using testing::case_of;
using testing::requests_of;
using Kind = MemoryRequest::Kind;

void expect_no_gaps(const SegmentView& segment) {
  std::uint64_t offset = 0;
  BlockState before = BlockState::kGone;
  for (const CachedBlock& block : segment.blocks) {
    EXPECT_EQ(block.offset, offset);
    EXPECT_GT(block.bytes, 0U);
    EXPECT_EQ(block.bytes % kMinBlockBytes, 0U);
    EXPECT_EQ(block.stream, segment.blocks[0].stream);
    EXPECT_EQ(block.small, segment.blocks[0].small);
    const bool idle = block.state == BlockState::kFree || block.state == BlockState::kUnmapped;
    EXPECT_FALSE(idle && block.state == before) << "two neighbours should have been merged";
    if (block.state == BlockState::kUnmapped) {
      EXPECT_EQ(block.offset % block.page_bytes, 0U);
      EXPECT_EQ(block.bytes % block.page_bytes, 0U);
    }
    before = block.state;
    offset += block.bytes;
  }
}

void expect_consistent(const CachingAllocator& allocator, const Case& made) {
  MemoryUsage counted;
  for (const SegmentView& segment : allocator.segments()) {
    expect_no_gaps(segment);
    counted.reserved += segment.reserved();
    for (const CachedBlock& block : segment.blocks) {
      const bool allocated = block.state == BlockState::kAllocated;
      const bool active = allocated || block.state == BlockState::kAwaitingFree;
      counted.allocated += allocated ? block.bytes : 0;
      counted.active += active ? block.bytes : 0;
      counted.requested += active ? block.requested : 0;
      EXPECT_LE(block.requested, block.bytes);
    }
  }
  EXPECT_EQ(counted, allocator.usage());
  EXPECT_LE(counted.requested, counted.active);
  EXPECT_LE(counted.allocated, counted.active);
  EXPECT_LE(counted.active, counted.reserved);
  EXPECT_LE(counted.reserved, allocator.peak().reserved);
  EXPECT_LE(allocator.peak().active, allocator.peak().reserved);
  EXPECT_LE(allocator.peak().reserved, made.device.available);
  EXPECT_EQ(allocator.left(), made.device.available - counted.reserved);
}

class RandomRequests : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomRequests, LeaveAConsistentState) {
  const Case made = case_of(GetParam());
  CachingAllocator allocator(made.settings, made.device);
  std::set<std::uint64_t> alive;
  std::size_t refused = 0;
  std::size_t served = 0;
  for (const MemoryRequest& request : requests_of(GetParam(), 3000)) {
    if (!allocator.serve(request)) {
      ++refused;
    } else if (request.kind == Kind::kAllocate) {
      alive.insert(request.id);
    } else if (request.kind == Kind::kFree || request.kind == Kind::kRequestFree) {
      alive.erase(request.id);
    }
    if (++served % 16 == 0) {
      expect_consistent(allocator, made);
    }
    ASSERT_FALSE(HasFailure()) << "after " << served << ": " << testing::layout(allocator);
  }
  EXPECT_EQ(refused > 0, made.device.available == 300 * kMiB) << refused;
  for (const std::uint64_t id : alive) {
    allocator.free(id);
  }
  EXPECT_EQ(allocator.usage().allocated, 0U);
  allocator.empty_cache();  // with what waited for a stream
  EXPECT_EQ(allocator.usage(), MemoryUsage{});
}

TEST_P(RandomRequests, AreServedAlikeEachTime) {
  const Case made = case_of(GetParam());
  const std::vector<MemoryRequest> requests = requests_of(GetParam(), 3000);
  const AllocatorTimeline once = simulate(requests, made.settings, made.device);
  const AllocatorTimeline twice = simulate(requests, made.settings, made.device);
  EXPECT_EQ(once.after, twice.after);
  EXPECT_EQ(once.peak, twice.peak);
}

TEST_P(RandomRequests, FitIntoWhatTheyReserve) {
  // Where nothing is in the way, the same requests reserve the same; the last page less, and they do not.
  Case made = case_of(GetParam());
  made.settings.per_process_memory_fraction = 1;
  const std::vector<MemoryRequest> requests = requests_of(GetParam(), 3000);
  const AllocatorTimeline free = simulate(requests, made.settings, {1ULL << 40U, 1ULL << 40U});
  ASSERT_FALSE(free.out_of_memory.has_value());
  ASSERT_EQ(free.after.size(), requests.size());
  const AllocatorTimeline exact = simulate(requests, made.settings, {1ULL << 40U, free.peak.reserved});
  EXPECT_EQ(exact.after, free.after);
  EXPECT_EQ(exact.retries, 0U);
  const AllocatorTimeline less = simulate(requests, made.settings, {1ULL << 40U, free.peak.reserved - 1});
  EXPECT_NE(less.after, free.after);
  EXPECT_LT(less.peak.reserved, free.peak.reserved);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRequests, ::testing::Range(0U, 64U));

/// What PyTorch's own functions give for the same requests: DeviceCachingAllocator's malloc, free and all that they
/// call were written out once without CUDA, on memory that is only counted, and compared with the model after each
/// request.
struct Figures {
  unsigned seed = 0;
  std::uint64_t peak_mib = 0;  ///< reserved
  std::uint64_t mean = 0;      ///< reserved after each request, in bytes, rounded down to 512
  std::size_t refused = 0;
  std::uint64_t retries = 0;
};

constexpr std::array<Figures, 16> kFigures = {{
    {16, 300, 263077888, 9, 21},
    {17, 288, 254661632, 13, 27},
    {18, 300, 252314624, 2, 20},
    {19, 290, 256335360, 13, 36},
    {20, 300, 274541568, 10, 30},
    {21, 288, 259289600, 5, 17},
    {22, 300, 271725056, 14, 39},
    {23, 290, 257375232, 15, 41},
    {24, 298, 266045952, 11, 12},
    {25, 290, 267325952, 8, 22},
    {26, 298, 248251904, 13, 16},
    {27, 288, 250736128, 11, 35},
    {28, 300, 256914944, 5, 8},
    {29, 288, 271845888, 13, 24},
    {30, 298, 240349696, 7, 10},
    {31, 288, 258513920, 12, 41},
}};

TEST(CachingAllocator, GivesTheFiguresOfPyTorchsFunctions) {
  for (const Figures& expected : kFigures) {
    const Case made = case_of(expected.seed);
    const std::vector<MemoryRequest> requests = requests_of(expected.seed, 3000);
    CachingAllocator allocator(made.settings, made.device);
    std::uint64_t sum = 0;
    std::size_t refused = 0;
    for (const MemoryRequest& request : requests) {
      refused += allocator.serve(request) ? 0U : 1U;
      sum += allocator.usage().reserved / kMinBlockBytes;
    }
    EXPECT_EQ(allocator.peak().reserved, expected.peak_mib * kMiB) << expected.seed;
    EXPECT_EQ(sum / requests.size() * kMinBlockBytes, expected.mean) << expected.seed;
    EXPECT_EQ(refused, expected.refused) << expected.seed;
    EXPECT_EQ(allocator.retries(), expected.retries) << expected.seed;
  }
}

TEST(Simulate, SaysWhereMemoryRunsOut) {
  const std::vector<MemoryRequest> requests = {{Kind::kAllocate, 1, 5 * kMiB, 0},
                                               {Kind::kFree, 1, 0, 0},
                                               {Kind::kAllocate, 2, 30 * kMiB, 0},
                                               {Kind::kAllocate, 3, 11 * kMiB, 0},
                                               {Kind::kFree, 2, 0, 0}};
  const AllocatorTimeline fits = simulate(requests, {}, testing::device_of(42));
  EXPECT_FALSE(fits.out_of_memory.has_value());
  ASSERT_EQ(fits.after.size(), 5U);
  EXPECT_EQ(fits.after[0], (MemoryUsage{5 * kMiB, 5 * kMiB, 5 * kMiB, 20 * kMiB}));
  EXPECT_EQ(fits.after[2], (MemoryUsage{30 * kMiB, 30 * kMiB, 30 * kMiB, 30 * kMiB}));  // the cached 20 were given back
  EXPECT_EQ(fits.after[4], (MemoryUsage{11 * kMiB, 12 * kMiB, 12 * kMiB, 42 * kMiB}));
  EXPECT_EQ(fits.peak, (MemoryUsage{41 * kMiB, 42 * kMiB, 42 * kMiB, 42 * kMiB}));
  EXPECT_EQ(fits.retries, 1U);

  const AllocatorTimeline less = simulate(requests, {}, testing::device_of(40));
  ASSERT_TRUE(less.out_of_memory.has_value());
  EXPECT_EQ(less.out_of_memory->request, 3U);
  EXPECT_EQ(less.after.size(), 3U);
  EXPECT_EQ(less.out_of_memory->segment, 12 * kMiB);
  EXPECT_EQ(less.out_of_memory->free, 10 * kMiB);
  EXPECT_EQ(less.out_of_memory->usage.allocated, 30 * kMiB);
}

TEST(Simulate, EndsWhereMoreIsAskedForThanThereCanBe) {
  const std::vector<MemoryRequest> requests = {{Kind::kAllocate, 1, 1ULL << 60U, 0}};
  const AllocatorTimeline timeline = simulate(requests);
  ASSERT_TRUE(timeline.out_of_memory.has_value());
  EXPECT_EQ(timeline.out_of_memory->segment, 0U);
}

TEST(Simulate, NoRequestsReserveNothing) {
  const AllocatorTimeline timeline = simulate({});
  EXPECT_TRUE(timeline.after.empty());
  EXPECT_FALSE(timeline.out_of_memory.has_value());
  EXPECT_EQ(timeline.peak, MemoryUsage{});
}

}  // namespace
}  // namespace ridgeline::analysis
