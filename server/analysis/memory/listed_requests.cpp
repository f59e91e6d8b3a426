#include "analysis/memory/listed_requests.h"

#include <algorithm>
#include <cmath>

#include "analysis/allocator/caching_allocator.h"

namespace ridgeline::analysis {

std::uint64_t reserved_bytes(std::span<const std::int64_t> requests, std::uint64_t workspace_bytes,
                             const CachingAllocatorSettings& settings) {
  CachingAllocator allocator(settings);
  std::uint64_t count = 0;
  for (int i = 0; i < kMatrixWorkspaces; ++i) {
    allocator.allocate(~std::uint64_t{0} - static_cast<std::uint64_t>(i), workspace_bytes);
  }
  for (const std::int64_t request : requests) {
    if (request < 0) {
      allocator.free(static_cast<std::uint64_t>(~request));
    } else {
      allocator.allocate(count++, static_cast<std::uint64_t>(request));
    }
  }
  return allocator.peak().reserved;
}

namespace {

/// Blocks that are freed with nothing requested in between, in one order: hash tables free in any.
std::vector<std::int64_t> with_sorted_frees(std::span<const std::int64_t> requests) {
  std::vector<std::int64_t> sorted(requests.begin(), requests.end());
  const auto is_free = [](std::int64_t request) { return request < 0; };
  for (auto from = sorted.begin(); from != sorted.end();) {
    from = std::find_if(from, sorted.end(), is_free);
    const auto to = std::find_if_not(from, sorted.end(), is_free);
    std::sort(from, to);
    from = to;
  }
  return sorted;
}

}  // namespace

std::optional<std::vector<std::int64_t>> requests_at(const ListedRequests& less, const ListedRequests& more,
                                                     int batch_size) {
  const std::vector<std::int64_t> smaller = with_sorted_frees(less.requests);
  std::vector<std::int64_t> requests = with_sorted_frees(more.requests);
  const bool are_same =
      std::ranges::equal(smaller, requests, [](std::int64_t a, std::int64_t b) { return a < 0 ? a == b : b > 0; });
  if (!are_same || less.batch_size >= more.batch_size) {
    return std::nullopt;
  }
  const double times = static_cast<double>(batch_size - less.batch_size) / (more.batch_size - less.batch_size);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] > 0) {
      const auto by_size = static_cast<double>(requests[i] - smaller[i]);
      requests[i] = std::max<std::int64_t>(1, smaller[i] + std::llround(times * by_size));
    }
  }
  return requests;
}

ReservedRange reserved_on_any_gpu(std::span<const std::int64_t> requests) {
  return {reserved_bytes(requests, kOldMatrixWorkspace),
          static_cast<std::uint64_t>(kMostMore * static_cast<double>(reserved_bytes(requests, kMatrixWorkspace)))};
}

}  // namespace ridgeline::analysis
