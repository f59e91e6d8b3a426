// The memory requests of a step that was listed on the host, served as PyTorch's caching allocator serves them on a
// GPU. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/allocator/caching_allocator_settings.h"

namespace ridgeline::analysis {

/// cuBLAS keeps a workspace for each of the threads that multiply matrices: that of forward, and autograd's. Bytes of
/// one, before compute capability 9.0 and from then on (ATen/cuda/CublasHandlePool.cpp).
inline constexpr std::uint64_t kOldMatrixWorkspace = 8320U << 10U;
inline constexpr std::uint64_t kMatrixWorkspace = 32U << 20U;
inline constexpr int kMatrixWorkspaces = 2;

/// The most that the allocator reserves, bytes. `requests`: as protocol::Captured has them. `workspace_bytes`: of each
/// workspace for matrices, all of them there from the beginning.
std::uint64_t reserved_bytes(std::span<const std::int64_t> requests, std::uint64_t workspace_bytes,
                             const CachingAllocatorSettings& settings = {});

struct ReservedRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// The same on a GPU of which nothing else is known. Low: the requests, with the smaller workspaces. High: with the
/// larger ones, and kMostMore for what operations ask for themselves and where that leaves gaps.
ReservedRange reserved_on_any_gpu(std::span<const std::int64_t> requests);
/// Four examples on an H100 reserved 1.01 to 1.12 times as much (tests/data/allocator), on which this was chosen.
inline constexpr double kMostMore = 1.15;

/// Of two batch sizes, ascending.
struct ListedRequests {
  int batch_size = 0;
  std::span<const std::int64_t> requests;
};

/// Two steps that ask alike but for the bytes. Blocks that are freed together are so in one order.
struct RequestLine {
  int less = 0;  ///< batch size, smaller than `more`
  int more = 0;
  std::vector<std::int64_t> of_less;  ///< as ListedRequests::requests
  std::vector<std::int64_t> of_more;
};

/// Through two neighbours of `listed` (ascending): the largest two that ask alike, and whose line makes the largest of
/// `listed` reserve what it does, within 1 %. Operations on little data are computed as they are listed, and may ask
/// for other small blocks than on more. Nothing where there are no such two.
std::optional<RequestLine> request_line(std::span<const ListedRequests> listed);

/// The requests at a batch size that is not below `line.less`, each on the straight line through both.
std::vector<std::int64_t> requests_at(const RequestLine& line, int batch_size);

}  // namespace ridgeline::analysis
