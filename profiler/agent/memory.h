// The allocator collector's controls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline::agent {

/// Puts the observing allocator in front of LibTorch's CPU allocator, or takes it away. Idempotent.
void attach_memory();
void detach_memory();
/// Notes the events of CUDA's caching allocator too: those of the calling thread, and of threads that LibTorch gives
/// its thread-local state to (autograd's). It occupies the slot that torch.profiler needs: detach on the same
/// thread before torch.profiler starts. Idempotent.
void attach_device_memory();
/// Whether it was attached and no longer is.
bool detach_device_memory();
/// Keeps the events of the recorded device until now for the next recording, with the requested sizes
/// (State::requests).
void keep_first_events();
/// The peak of live bytes on the recorded device, by the events kept since compact_memory().
std::uint64_t peak_bytes();
/// What was alive on the recorded device at a moment, and the most from then until the next one, or the last event.
struct AliveBytes {
  std::uint64_t at = 0;
  std::uint64_t most = 0;
};
/// One for each of `moments` (ticks(), ascending), by the events kept since compact_memory().
std::vector<AliveBytes> alive_bytes(const std::vector<std::uint64_t>& moments);
/// What was asked of the recorded device's allocator since a moment (ticks()), in order: a request's bytes, or ~i where
/// the block of request i, counted from 0, was freed. Blocks from before are left out, as are those that are freed
/// before the next of `operations` (ticks(), ascending): what an operation that computes needs for itself. A 0 stands
/// where the moment `mark` was. By the events kept since compact_memory().
std::vector<std::int64_t> requests_since(std::uint64_t moment, const std::vector<std::uint64_t>& operations,
                                         std::optional<std::uint64_t> mark);
/// Drops the allocator events of blocks that were released.
void compact_memory();

}  // namespace ridgeline::agent
