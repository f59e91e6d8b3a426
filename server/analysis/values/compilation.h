// What torch.compile did before the recorded step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/values/location.h"

namespace ridgeline::analysis {

/// A line at which a graph of torch.compile ended because the compiler could not go on.
struct GraphBreak {
  Location location;
  std::string function;
  std::string reason;  ///< torch's own words; the first line says what, those below what to do
  std::uint64_t count = 0;
};

struct CompiledFunction {
  Location location;  ///< its first line
  std::string function;
  std::uint64_t count = 0;           ///< how often it was compiled
  double seconds = 0;                ///< all together
  std::uint64_t guards = 0;          ///< that are checked before each call of the newest
  std::vector<std::string> reasons;  ///< why it was compiled again, torch's own words; each once
};

struct Compilation {
  std::vector<CompiledFunction> functions;  ///< most time first
  std::vector<GraphBreak> breaks;           ///< by place
};

}  // namespace ridgeline::analysis
