// The allocator collector's controls.
#pragma once

#include <cstdint>

namespace ridgeline::agent {

/// Puts the observing allocator in front of LibTorch's CPU allocator, or takes it away. Idempotent.
void attach_memory();
void detach_memory();
/// Forgets the allocator events of blocks that are gone.
void compact_memory();
/// Bytes handed out and not returned since attach_memory(). Call after compact_memory() or at any control point.
std::uint64_t live_bytes();

}  // namespace ridgeline::agent
