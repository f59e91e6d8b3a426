// Chrome trace JSON becomes a Trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "imports/byte_source.h"
#include "imports/trace.h"

namespace ridgeline::imports {

/// Beyond these, events are counted as lost.
struct TraceLimits {
  std::size_t events = std::size_t{1} << 25U;
  std::size_t string_bytes = std::size_t{1} << 29U;
  std::uint64_t file_bytes = std::uint64_t{1} << 34U;  ///< inflated; more is refused
};

/// Reads as the bytes come: a file takes as much memory as its events do. Understands Kineto's categories, and those of
/// torch 1.8. Throws ImportError for what is no JSON, ends too early, or has no events.
Trace read_trace(ByteSource source, const TraceLimits& limits = {});

/// Nanoseconds of a JSON number in microseconds, digit by digit: a double has too few of them. False for what is no
/// time from 0 on.
bool nanoseconds(std::string_view microseconds, std::uint64_t& ns);

}  // namespace ridgeline::imports
