// The allocator collector's controls.
#pragma once

#include <cstdint>

namespace ridgeline::agent {

/// Puts the observing allocator in front of LibTorch's CPU allocator, or takes it away. Idempotent.
void attach_memory();
void detach_memory();
/// Notes the events of CUDA's caching allocator too: those of the calling thread, and of threads that LibTorch gives
/// its thread-local state to (autograd's). It takes the slot that torch.profiler needs: let go on the same thread
/// before that one starts. Idempotent.
void attach_device_memory();
/// Whether it was attached and no longer is.
bool detach_device_memory();
/// Keeps the events of the recorded device until now for the next recording, with what was asked for (State::requests).
void keep_first_events();
/// The most that was alive on the recorded device at a time, by the events that are kept: since compact_memory().
std::uint64_t peak_bytes();
/// Forgets the allocator events of blocks that are gone.
void compact_memory();

}  // namespace ridgeline::agent
