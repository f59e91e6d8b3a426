// Events of a trace whose times cannot be true.
#pragma once

#include "ingest/trace.h"

namespace ridgeline::ingest {

/// Leaves out activities of a device that last on while several later launches of the same stream run to their ends,
/// since a stream runs one after the other (but for overlaps of neighbours), and events that are far outside of the
/// time of all others. A note says how many there were, and names the longest.
void leave_out_impossible_times(Trace& trace);

}  // namespace ridgeline::ingest
