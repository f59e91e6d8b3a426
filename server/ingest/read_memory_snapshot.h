// Reads what torch.cuda.memory._dump_snapshot writes, of torch 2.0 and later: a pickle, read as data. Frames, blocks
// and events are taken as they come, so that the file may be larger than memory.
#pragma once

#include <cstddef>
#include <string_view>

#include "analysis/values/memory_history.h"
#include "ingest/byte_source.h"

namespace ridgeline::ingest {

struct SnapshotLimits {
  std::size_t events = std::size_t{1} << 25U;  ///< of all devices; what comes then is left out
  std::size_t frames_of_stack = 256;           ///< the innermost ones
};

/// Whether a file begins as a pickle does.
bool is_pickle(std::string_view first_bytes);

/// Throws ImportError where it is no snapshot. One that is cut off has what came before, and says so.
analysis::MemoryHistory read_memory_snapshot(ByteSource source, const SnapshotLimits& limits = {});

}  // namespace ridgeline::ingest
