#include "analysis/memory/listed_requests.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
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

using Requests = std::vector<std::int64_t>;

std::optional<Requests> at(int batch_size, const std::vector<std::pair<int, Requests>>& listed) {
  std::vector<ListedRequests> views;
  for (const auto& [size, requests] : listed) {
    views.push_back({size, requests});
  }
  const auto line = request_line(views);
  return line ? std::optional(requests_at(*line, batch_size)) : std::nullopt;
}

TEST(RequestsAt, LieOnTheLineThroughBothSizes) {
  const std::vector<std::int64_t> less = {100, 40, ~0, 7};
  const std::vector<std::int64_t> more = {300, 40, ~0, 11};
  EXPECT_EQ(at(8, {{2, less}, {4, more}}), (Requests{700, 40, ~0, 19}));
}

TEST(RequestsAt, DoNotDependOnTheOrderInWhichBlocksAreFreedTogether) {
  const std::vector<std::int64_t> less = {100, 40, 8, ~0, ~2, ~1, 5};
  const std::vector<std::int64_t> more = {200, 40, 8, ~2, ~1, ~0, 5};
  EXPECT_EQ(at(3, {{1, less}, {2, more}}), (Requests{300, 40, 8, ~2, ~1, ~0, 5}));
}

TEST(RequestsAt, OfOtherStepsAreNotKnown) {
  const std::vector<std::int64_t> less = {100, 40, ~0};
  EXPECT_FALSE(at(8, {{2, less}, {4, {100, 40, ~1}}}));
  EXPECT_FALSE(at(8, {{2, less}, {4, {100, 40}}}));
  EXPECT_FALSE(at(8, {{4, less}, {4, less}}));
  EXPECT_FALSE(at(8, {{4, less}}));
}

TEST(RequestsAt, AreThoseOfSmallerSizesWhereTheLargestDiffersInSmallBlocksOnly) {
  const std::int64_t large = 100 * kMebibyte;
  const std::pair<int, Requests> first{1, {large, 512, ~1}};
  const std::pair<int, Requests> second{2, {2 * large, 512, ~1}};
  EXPECT_EQ(at(8, {first, second, {4, {4 * large}}}), (Requests{8 * large, 512, ~1}));
  EXPECT_FALSE(at(8, {first, second, {4, {4 * large, large}}})) << "it needs more than the line says";
}

}  // namespace
}  // namespace ridgeline::analysis
