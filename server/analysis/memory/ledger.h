// The ledger of a step's allocations: those of one iteration, matched between recordings at several batch sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

inline constexpr std::size_t kNeverFreed = ~std::size_t{0};

/// A block as all samples know it. Instants are positions in the one order of all samples' events.
struct Allocation {
  std::size_t birth = 0;
  std::size_t death = 0;             ///< kNeverFreed: not in the iteration
  std::vector<std::uint64_t> bytes;  ///< at each sample; 0 where it does not exist
  std::size_t sample = 0;            ///< the first that has it
  /// The events that allocated it, in each sample's recording; kNone where it does not exist.
  std::vector<std::uint32_t> events;
  bool before = false;  ///< it was alive when the iteration began
  /// The requested bytes at each sample, where they were recorded: the allocator may hand out more. Else as `bytes`.
  std::vector<std::uint64_t> requested;

  std::uint32_t event() const { return events[sample]; }  ///< of the first sample that has it
};

/// The allocations of two samples or more.
struct Ledger {
  std::size_t instants = 0;
  std::vector<Allocation> allocations;
};

/// Matches the iteration with the peak of each recording, by the ops and stacks that allocated and freed, in
/// order; what was alive when the iteration began comes first. Replayed, each sample's bytes give its recorded peak.
/// An error when there are fewer than two recordings, when one is incomplete, or when they allocate too differently.
/// Pure.
base::Result<Ledger> match_allocations(std::span<const recording::Recording* const> recordings);

}  // namespace ridgeline::analysis
