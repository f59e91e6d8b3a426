// The allocator collector's controls.
#pragma once

namespace ridgeline::agent {

/// Puts the observing allocator in front of LibTorch's CPU allocator, or takes it away. Idempotent.
void attach_memory();
void detach_memory();
/// Forgets the allocator events of blocks that are gone.
void compact_memory();

}  // namespace ridgeline::agent
