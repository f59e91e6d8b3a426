// The running executable.
#pragma once

#include <string>

namespace ridgeline::base {

/// Its path, links resolved; empty without /proc. Ends with " (deleted)" when it was replaced while it runs.
std::string executable_path();
/// Its version and a hash of its bytes: equal values mean the same program. Computed once.
std::string executable_version();

}  // namespace ridgeline::base
