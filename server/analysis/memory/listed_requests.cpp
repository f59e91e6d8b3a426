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

std::optional<std::vector<std::int64_t>> requests_at(const ListedRequests& less, const ListedRequests& more,
                                                     int batch_size) {
  const bool are_same = std::ranges::equal(less.requests, more.requests,
                                           [](std::int64_t a, std::int64_t b) { return a < 0 ? a == b : b > 0; });
  if (!are_same || less.batch_size >= more.batch_size) {
    return std::nullopt;
  }
  const double times = static_cast<double>(batch_size - less.batch_size) / (more.batch_size - less.batch_size);
  std::vector<std::int64_t> requests(more.requests.begin(), more.requests.end());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] > 0) {
      const auto by_size = static_cast<double>(requests[i] - less.requests[i]);
      requests[i] = std::max<std::int64_t>(1, less.requests[i] + std::llround(times * by_size));
    }
  }
  return requests;
}

ReservedRange reserved_on_any_gpu(std::span<const std::int64_t> requests) {
  return {reserved_bytes(requests, kOldMatrixWorkspace),
          static_cast<std::uint64_t>(kMostMore * static_cast<double>(reserved_bytes(requests, kMatrixWorkspace)))};
}

}  // namespace ridgeline::analysis
