// The requests that a step makes of PyTorch's caching allocator, at any batch size. step_replay.h replays them.
//
// The first iteration differs from the later ones: it creates the optimizer's state and finds no gradients. Where the
// allocator places these decides what fits between them later, so the first iteration is replayed as it was recorded at
// one batch size: each of its blocks grows with the batch like the corresponding block of a later iteration, by order
// and size.
//
// Later iterations are assumed to request the same blocks each. What is alive at the end of one replaces what was alive
// when it began and was freed in it (gradients, the loss): the next iteration frees that instead.
#pragma once

#include <span>
#include <vector>

#include "analysis/memory/ledger.h"
#include "analysis/values/profile.h"
#include "base/result.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// The model of the ledger of `recordings`, at these batch sizes. Where no recording has its first events, or they
/// differ too much from the later ones, the first iteration is assumed to be like the later ones. An error when the
/// step makes too many requests to be replayed (kMaxAllocatorEvents). Leaves `largest`, `is_bounded` and
/// `parts_of_batch` as they are by default. Pure.
base::Result<AllocatorModel> make_allocator_model(const Ledger& ledger, const std::vector<int>& sizes,
                                                  std::span<const recording::Recording* const> recordings,
                                                  const AllocatorSetup& setup);

}  // namespace ridgeline::analysis
