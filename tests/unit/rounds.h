// How often a test repeats what it does with random or large input.
#pragma once

#include <cstdlib>

namespace ridgeline::testing {

/// `all`; or `fewer` when RIDGELINE_FEWER_ROUNDS is set, as `./dev test` does for the slow builds with sanitizers.
/// `./dev test --all` never sets it.
template <typename Number>
Number rounds(Number all, Number fewer) {
  return std::getenv("RIDGELINE_FEWER_ROUNDS") == nullptr ? all : fewer;
}

}  // namespace ridgeline::testing
