// Batch sizes from which a step works differently, judging by its allocations, and what that may cost at most.
#pragma once

#include <vector>

#include "analysis/memory/ledger.h"
#include "analysis/values/profile.h"

namespace ridgeline::analysis {

/// glibc never serves a block of this size or more from the heap (DEFAULT_MMAP_THRESHOLD_MAX on 64 bits): it is mapped
/// anew and its pages are faulted in again at each iteration.
inline constexpr double kMappedBytes = 32.0 * 1024 * 1024;
/// at::parallel_for leaves loops of fewer elements (GRAIN_SIZE, of 4 bytes) to one thread.
inline constexpr double kThreadedBytes = 32768.0 * 4;

/// The batch sizes at which blocks that an iteration allocates on the host reach one of the limits above, for blocks
/// whose size grows nearly linearly with the batch (batches of graphs or sentences differ). `sizes` are the ledger's,
/// ascending. Sorted by from_batch, without duplicates; the costliest 64 up to four times the largest size. Pure.
std::vector<Regime> regimes_of(const Ledger& ledger, const std::vector<int>& sizes);

}  // namespace ridgeline::analysis
