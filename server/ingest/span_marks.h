// Events that are written as two, their beginning and their end ("ph": "B" and "E").
#pragma once

#include <cstdint>
#include <vector>

#include "ingest/trace.h"

namespace ridgeline::ingest {

struct SpanMark {
  std::uint64_t time = 0;
  std::uint32_t thread = 0;         ///< of Trace::threads
  std::uint32_t name = 0;           ///< string; of an end maybe 0
  std::uint32_t event = kNoNumber;  ///< of a beginning: of Trace::events; kNoNumber: it is of no kind that is imported
  bool begins = false;
};

/// Gives each event its end. An end is that of the last open event of its thread that has its name or, where the end
/// has none, of the last open one. The order of the marks counts only where they are at the same time. Events without
/// an end are taken out of the trace. How many marks have no other.
std::uint64_t pair_marks(std::vector<SpanMark> marks, Trace& trace);

}  // namespace ridgeline::ingest
