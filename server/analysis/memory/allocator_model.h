// What a step needs of a device by PyTorch's caching allocator, at any batch size: its requests, replayed.
//
// The first iteration is another than those after it: it makes the optimizer's state, and finds no gradients. Where the
// allocator puts these decides what fits between them later. So it is replayed as it was recorded, at one batch size:
// each of its blocks grows with the batch like the block of a later iteration that it corresponds to, by order and
// size.
//
// Later iterations are taken to ask for the same blocks each. What is alive at the end of one takes the place of what
// was alive when it began and is freed in it (gradients, the loss): the next one frees it in its stead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/allocator/caching_allocator.h"
#include "analysis/memory/ledger.h"
#include "analysis/profile.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// Of the ledger of `recordings`, at these batch sizes. Where none of them has its first events, or they are too unlike
/// the later ones, the first iteration is taken to be like those. Nothing, with the reason in `why_not`, when the step
/// asks for more than a replay is worth (kMaxAllocatorEvents). Sets all but `largest` and `is_bounded`. Pure.
std::optional<AllocatorModel> make_allocator_model(const Ledger& ledger, const std::vector<int>& sizes,
                                                   std::span<const recording::Recording* const> recordings,
                                                   const AllocatorSetup& setup, std::string& why_not);

DeviceMemory device_of(const AllocatorSetup& setup);

struct AllocatorNeed {
  std::uint64_t reserved = 0;   ///< bytes, the most
  std::uint64_t allocated = 0;  ///< likewise
  std::uint64_t retries = 0;    ///< how often all cached memory was given back for one request
  bool fits = true;             ///< false: it ran out of memory, and the figures are those until then
  bool settled = true;          ///< false: it ran out of memory, or no state came back in kMostIterations
};
inline constexpr std::size_t kMostIterations = 16;

/// Replays a process: its first iteration, then later ones until the allocator is in a state in which one left it
/// before, from where all that follows would repeat. Pure; some milliseconds for some thousand requests.
AllocatorNeed replay_step(const AllocatorModel& model, int batch_size, const DeviceMemory& device);

struct LargestBatch {
  std::optional<int> batch_size;  ///< absent: not even 1 fits
  bool is_bounded = true;         ///< false: it is the largest that was asked, and fits
};

/// The largest batch size, from 1 to `most`, that fits into the device, by bisection: those that were asked up to it
/// fit, and the next one does not. Pure; some twenty replays.
LargestBatch largest_that_fits(const AllocatorModel& model, const DeviceMemory& device, int most);

}  // namespace ridgeline::analysis
