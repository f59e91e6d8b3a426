// What a trace of torch.profiler says of the rank that it is of, beside the recording that is made from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::analysis {

/// Whether a kernel communicates with other ranks, by its name: NCCL's and RCCL's.
inline bool is_collective_kernel(std::string_view kernel) {
  return kernel.starts_with("nccl") || kernel.starts_with("rccl");
}

/// A kernel of NCCL or RCCL. Times are nanoseconds, as the recording has them.
struct TracedCollective {
  std::string kernel;        ///< its name
  std::string call{};        ///< "allreduce"; empty: the trace does not name it
  std::string group{};       ///< the name of the process group; empty: not named
  std::vector<int> ranks{};  ///< of the group; empty: not named
  std::string dtype{};       ///< "Float"; empty: not named
  std::uint64_t elements = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

struct TracedRank {
  int rank = -1;                                              ///< -1: the trace does not tell
  int world_size = 0;                                         ///< 0: the trace does not tell
  std::uint64_t base_ns = 0;                                  ///< to be added to times, for those since 1970
  std::vector<std::pair<std::uint64_t, std::int64_t>> steps;  ///< when each began, and its number
  std::vector<TracedCollective> collectives;                  ///< by start
};

}  // namespace ridgeline::analysis
