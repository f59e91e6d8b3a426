// The recorded steps, instant by instant, for Perfetto (https://ui.perfetto.dev).
#pragma once

#include <cstddef>
#include <string>

#include "analysis/values/input.h"
#include "analysis/values/profile.h"

namespace ridgeline::report {

/// Slices and counter values that a trace has, about: whole steps are left out beyond it, never the one with the peak.
inline constexpr std::size_t kMostEvents = 400'000;

/// A trace in the JSON of Chrome's trace viewer, which Perfetto opens: steps; the operations and device calls of each
/// thread, nested; what each stream of a device did, with an arrow from the call that asked for it; live memory, all of
/// it and by category. Slices have the user's line, the module, the operation and the phase as arguments. Times are of
/// the recording's clock, with the cost of recording in them, from the start of the first step that is shown.
std::string perfetto_trace(const analysis::RecordedRun& recorded, const analysis::Profile& profile,
                           std::size_t most_events = kMostEvents);

}  // namespace ridgeline::report
