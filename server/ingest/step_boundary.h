// What ends a training step of a trace, as the user says.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ridgeline::ingest {

struct StepBoundary {
  enum class By : std::uint8_t {
    kFound,       ///< the user did not say
    kNothing,     ///< the whole trace is one iteration
    kOptimizer,   ///< after each step of any optimizer
    kDataLoader,  ///< before each batch
    kBackward,    ///< before the first forward operation after a backward pass
    kLine,        ///< before each call of the function that begins there
    kRange,       ///< before each range of that name
  };
  By by = By::kFound;
  std::string name{};      ///< of the file or of the range
  std::uint32_t line = 0;  ///< of the file
};

/// The value of `--step-boundary`: optimizer, dataloader, backward, none, FILE.py:LINE, or the name of a range, also
/// without the number that it counts with. Empty: found.
base::Result<StepBoundary> parse_trace_boundary(const std::string& text);

}  // namespace ridgeline::ingest
