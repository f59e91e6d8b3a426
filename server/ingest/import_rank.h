// The rank that a trace is of, and its collectives.
#pragma once

#include "analysis/values/traced_rank.h"
#include "ingest/trace.h"

namespace ridgeline::ingest {

/// Pure.
analysis::TracedRank traced_rank(const Trace& trace);

}  // namespace ridgeline::ingest
