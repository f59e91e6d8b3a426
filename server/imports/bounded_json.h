// Limits the length of tokens in front of a JSON parser that holds each of them in memory.
#pragma once

#include <cstddef>

#include "imports/byte_source.h"

namespace ridgeline::imports {

/// In bytes of the JSON text. What torch.profiler writes stays below a thousandth of the first and the last.
struct TokenLimits {
  std::size_t string_bytes = std::size_t{1} << 22U;  ///< a name of a member or a string, with its escapes
  std::size_t number_bytes = 4096;
  std::size_t gap_bytes = std::size_t{1} << 20U;  ///< between strings and numbers: blanks, brackets, null, true
};

/// The bytes of `source`. Throws ImportError, with the place, once something in them is longer than its limit: before
/// more than a buffer of it was passed on.
ByteSource bounded_json(ByteSource source, const TokenLimits& limits);

}  // namespace ridgeline::imports
