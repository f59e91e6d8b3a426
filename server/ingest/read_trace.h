// Chrome trace JSON becomes a Trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ingest/byte_source.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

/// In bytes of the JSON text. What torch.profiler writes stays below a thousandth of the first and the last.
struct TokenLimits {
  std::size_t string_bytes = std::size_t{1} << 22U;  ///< a name of a member or a string, with its escapes
  std::size_t number_bytes = 4096;
  std::size_t gap_bytes = std::size_t{1} << 20U;  ///< between strings and numbers: blanks, brackets, null, true
};

/// Beyond these, events are counted as lost, where nothing else is said.
struct TraceLimits {
  std::size_t events = std::size_t{1} << 25U;
  std::size_t string_bytes = std::size_t{1} << 30U;    ///< in memory, of the strings that differ
  std::uint64_t file_bytes = std::uint64_t{1} << 34U;  ///< inflated; more is refused
  std::size_t threads = std::size_t{1} << 16U;
  TokenLimits tokens{};  ///< more is refused
  bool inputs = false;   ///< whether Trace::inputs are read
};

/// Reads the file as a stream: its events are held in memory, and nothing else beyond `limits`. Understands Kineto's
/// categories, and those of torch 1.8. What is damaged is left out or repaired, as Trace::damage says. Throws
/// ImportError for what is no JSON, of which no event can be read, that nests too deeply, or has a token that is too
/// long.
Trace read_trace(ByteSource source, const TraceLimits& limits = {});

}  // namespace ridgeline::ingest
