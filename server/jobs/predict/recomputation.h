// What activations a job would not keep if modules ran forward again in backward, as torch.utils.checkpoint does.
//
// dPRO (MLSys 2022), section 5.2; Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/values/input.h"
#include "protocol/recording.h"

namespace ridgeline::jobs {

/// Modules of one class whose forward runs again.
struct Recomputation {
  std::string type;                  ///< their class
  std::size_t of = 0;                ///< how many of that class the model has
  std::vector<std::string> modules;  ///< dotted names, in the order of forward
  std::uint64_t peak_bytes = 0;      ///< predicted, of the rank that has most
};

/// For each class of the model's own that occurs twice or more without nesting: the fewest modules, from the first of
/// forward on, with which the peak of each rank is at most `limit_bytes`; absent where recomputing all is not enough.
/// A recomputed module keeps its input and its output; what else forward kept is freed until its backward begins. Then
/// all of it is alive at once, with the temporaries of forward. Where several of its blocks may be the output, the
/// largest is kept. `recordings` are those of the ranks. Pure.
std::vector<Recomputation> fitting_recomputations(std::span<const recording::Recording> recordings,
                                                  const analysis::SourceScope& scope, std::uint64_t limit_bytes);

}  // namespace ridgeline::jobs
