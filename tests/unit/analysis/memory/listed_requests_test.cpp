#include "analysis/memory/listed_requests.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridgeline::analysis {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

/// By the allocator's rules: a request of at least 10 MiB gets a segment of its own, a multiple of 2 MiB; smaller ones
/// above 1 MiB share segments of 20 MiB.
TEST(ReservedBytes, AreThoseOfTheSegments) {
  const std::vector<std::int64_t> requests = {11 * kMebibyte, 5 * kMebibyte, 5 * kMebibyte, ~0, 13 * kMebibyte};
  EXPECT_EQ(reserved_bytes(requests, kMatrixWorkspace), (2 * 32 + 12 + 20 + 14) * kMebibyte);
}

TEST(ReservedBytes, OfWhatIsFreedAreUsedAgain) {
  std::vector<std::int64_t> requests;
  for (std::int64_t step = 0; step < 5; ++step) {
    requests.insert(requests.end(), {40 * kMebibyte, 20 * kMebibyte, ~(2 * step), ~(2 * step + 1)});
  }
  EXPECT_EQ(reserved_bytes(requests, kMatrixWorkspace), (2 * 32 + 40 + 20) * kMebibyte);
}

/// Workspaces of 8,320 KiB share a segment of 20 MiB.
TEST(ReservedBytes, OnAnyGpuLieBetweenSmallAndLargeWorkspaces) {
  const std::vector<std::int64_t> requests = {100 * kMebibyte};
  const ReservedRange range = reserved_on_any_gpu(requests);
  EXPECT_EQ(range.low, 120U * kMebibyte);
  EXPECT_NEAR(static_cast<double>(range.high), 1.15 * 164 * kMebibyte, 1);
}

TEST(RequestsAt, LieOnTheLineThroughBothSizes) {
  const std::vector<std::int64_t> less = {100, 40, ~0, 7};
  const std::vector<std::int64_t> more = {300, 40, ~0, 11};
  EXPECT_EQ(requests_at({2, less}, {4, more}, 8), (std::vector<std::int64_t>{700, 40, ~0, 19}));
}

TEST(RequestsAt, DoNotDependOnTheOrderInWhichBlocksAreFreedTogether) {
  const std::vector<std::int64_t> less = {100, 40, 8, ~0, ~2, ~1, 5};
  const std::vector<std::int64_t> more = {200, 40, 8, ~2, ~1, ~0, 5};
  EXPECT_EQ(requests_at({1, less}, {2, more}, 3), (std::vector<std::int64_t>{300, 40, 8, ~2, ~1, ~0, 5}));
}

TEST(RequestsAt, OfOtherStepsAreNotKnown) {
  const std::vector<std::int64_t> less = {100, 40, ~0};
  EXPECT_FALSE(requests_at({2, less}, {4, std::vector<std::int64_t>{100, 40, ~1}}, 8));
  EXPECT_FALSE(requests_at({2, less}, {4, std::vector<std::int64_t>{100, 40}}, 8));
  EXPECT_FALSE(requests_at({4, less}, {4, less}, 8));
}

}  // namespace
}  // namespace ridgeline::analysis
