// Random bytes of the system.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace ridgeline::base {

/// Random bytes in base 16, two digits each. At most 256 bytes; an error only where the system refuses to give any.
/// Thread-safe.
Result<std::string> random_digits(std::size_t bytes);

}  // namespace ridgeline::base
