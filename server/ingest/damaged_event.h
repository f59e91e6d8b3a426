// An event of a trace whose text is not JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "ingest/trace_handler.h"

namespace ridgeline::ingest {

/// Reads the event at the front of `text`, an object, into the handler: with quotes and backslashes in strings that
/// were not escaped, commas too many or too few, and, where the next event follows the text (`is_followed`), without
/// its last brackets. The bytes that the event takes; nothing where members of it cannot be told apart or come twice:
/// then the handler is in the midst of the event. Pure but for the handler.
std::optional<std::size_t> read_damaged_event(std::string_view text, bool is_followed, TraceHandler& handler);

/// Whether an event begins at the front of `text`: an object whose first member is one of an event.
bool begins_event(std::string_view text);

}  // namespace ridgeline::ingest
