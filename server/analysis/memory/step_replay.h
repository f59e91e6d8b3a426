// A step's requests, replayed on a device's caching allocator: what it reserves, and which batch sizes fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "analysis/allocator/caching_allocator.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

DeviceMemory device_of(const AllocatorSetup& setup);
CachingAllocatorSettings settings_of(const AllocatorSetup& setup);

struct AllocatorNeed {
  std::uint64_t reserved = 0;   ///< bytes, the most
  std::uint64_t allocated = 0;  ///< likewise
  std::uint64_t retries = 0;    ///< how often all cached memory was released for one request
  bool fits = true;             ///< false: it ran out of memory, and the figures are those until then
  bool settled = true;          ///< false: it ran out of memory, or no state came back in kMostIterations
};
inline constexpr std::size_t kMostIterations = 16;

/// Replays a process: its first iteration, then later ones until one leaves the allocator in a state that it had
/// before, from which everything would repeat. Pure; some milliseconds for some thousand requests.
AllocatorNeed replay_step(const AllocatorModel& model, int batch_size, const DeviceMemory& device);

struct LargestBatch {
  std::optional<int> batch_size;  ///< absent: not even 1 fits
  bool is_bounded = true;         ///< false: `most` itself fits
};

/// The largest batch size, from 1 to `most`, that fits into the device, and whose next one does not. Looked for from
/// above: every size up to 256, every second to 512, every fourth to 1024, and so on, until one fits; then every one
/// between that and the size above. Pure; some twenty replays, and one for each size that is looked at.
LargestBatch largest_that_fits(const AllocatorModel& model, const DeviceMemory& device, int most);

}  // namespace ridgeline::analysis
