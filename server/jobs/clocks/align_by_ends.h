// Clocks aligned by when collectives on devices end.
//
// A collective to which all ranks contribute, and whose result all of them get, ends on all devices within some
// microseconds, however long each of them waited for the others. So the median of the differences of many ends is
// nearer to the offset of two clocks than what the order of events allows.
#pragma once

#include <optional>
#include <vector>

#include "jobs/clocks/align_clocks.h"

namespace ridgeline::jobs {

/// Ends of one collective were up to so far apart on devices of one host, ns.
inline constexpr double kEndsApartNs = 4'000;

/// By machine, any number. Linear in time where the ends show the drift to within kMostUnsurePpm, else constant. The
/// range is what all but a few ends allow. Nothing where ends do not connect all machines to machine 0.
std::optional<std::vector<ClockOffset>> align_by_ends(const HappensBefore& recorded);

}  // namespace ridgeline::jobs
