// The allocator's events of a trace.
#pragma once

#include <cstdint>
#include <vector>

#include "ingest/columns_builder.h"
#include "ingest/host_sweep.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

enum class MemoryKnown : std::uint8_t {
  kNothing,
  kChanges,  ///< old traces, and the CPU's memory: without what was allocated before
  kAll,
};

/// Writes the events of a device, or of the CPU for kNoNumber; needs the iterations. What was alive before the first
/// event, by the allocator's own total, is allocated before it: a block of its own for each that is freed later, and
/// one for the rest.
MemoryKnown write_memory(const Trace& trace, const std::vector<PendingMemory>& events, std::uint32_t device,
                         ColumnsBuilder& builder);

}  // namespace ridgeline::ingest
