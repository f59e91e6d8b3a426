// How long the blocks of a repeated step live: which block of the previous iteration it frees where the recording frees
// one that was alive before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::analysis {

inline constexpr std::size_t kNoRequest = ~std::size_t{0};

/// When the block of each request of an allocator model is freed; indexed by request.
struct BlockLives {
  std::vector<bool> freed;  ///< in a later iteration
  /// The request whose block of the previous iteration is freed in its place; itself when it is allocated in the
  /// iteration; kNoRequest when there is none.
  std::vector<std::size_t> freed_instead;
  std::vector<bool> outlives;       ///< the iteration: the next one frees it
  std::vector<std::size_t> leaked;  ///< requests that are made in a later iteration and freed in none
};

/// The lives of blocks in the model's later iterations. Pure.
BlockLives lives_of(const AllocatorModel& model);

/// An event of AllocatorEvents and its request.
inline std::size_t request_of(std::int32_t event) { return static_cast<std::size_t>(event < 0 ? ~event : event); }
inline std::int32_t allocation_of(std::size_t request) { return static_cast<std::int32_t>(request); }
inline std::int32_t release_of(std::size_t request) { return ~static_cast<std::int32_t>(request); }

}  // namespace ridgeline::analysis
