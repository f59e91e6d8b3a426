#include "analysis/memory/listed_requests.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

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

constexpr double kAlike = 1.01;  ///< how many times as much a step may reserve as one that it is taken for

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

std::optional<RequestLine> line_through(const ListedRequests& less, const ListedRequests& more) {
  RequestLine line{less.batch_size, more.batch_size, with_sorted_frees(less.requests),
                   with_sorted_frees(more.requests)};
  const bool are_same = std::ranges::equal(line.of_less, line.of_more,
                                           [](std::int64_t a, std::int64_t b) { return a < 0 ? a == b : b > 0; });
  return are_same && line.less < line.more ? std::optional(std::move(line)) : std::nullopt;
}

bool reserve_alike(std::span<const std::int64_t> one, std::span<const std::int64_t> other) {
  const auto [less, more] =
      std::minmax({reserved_bytes(one, kMatrixWorkspace), reserved_bytes(other, kMatrixWorkspace)});
  return static_cast<double>(more) <= kAlike * static_cast<double>(less);
}

}  // namespace

std::optional<RequestLine> request_line(std::span<const ListedRequests> listed) {
  for (std::size_t more = listed.size(); more-- > 1;) {
    auto line = line_through(listed[more - 1], listed[more]);
    if (line && reserve_alike(requests_at(*line, listed.back().batch_size), listed.back().requests)) {
      return line;
    }
  }
  return std::nullopt;
}

std::vector<std::int64_t> requests_at(const RequestLine& line, int batch_size) {
  const double times = static_cast<double>(batch_size - line.less) / (line.more - line.less);
  std::vector<std::int64_t> requests = line.of_more;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] > 0) {
      const auto by_size = static_cast<double>(requests[i] - line.of_less[i]);
      requests[i] = std::max<std::int64_t>(1, line.of_less[i] + std::llround(times * by_size));
    }
  }
  return requests;
}

ReservedRange reserved_on_any_gpu(std::span<const std::int64_t> requests) {
  return {reserved_bytes(requests, kOldMatrixWorkspace),
          static_cast<std::uint64_t>(kMostMore * static_cast<double>(reserved_bytes(requests, kMatrixWorkspace)))};
}

}  // namespace ridgeline::analysis
