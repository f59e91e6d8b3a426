// Lines, and what no line owns: together the whole iteration.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/values/profile.h"
#include "report/page.h"
#include "report/places.h"
#include "report/table.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// The `most` costliest lines in time that take `least_ms`, then those that hold much memory without being among them,
/// as pointers into `lines`.
std::vector<const analysis::LineCost*> costly_lines(const analysis::Profile& profile, std::size_t most,
                                                    double least_ms);

/// The costliest lines in time, the largest holders of memory, and the sum of the others.
Table line_table(const Page& page, const analysis::Profile& profile, const Places& places, const SourceLines& source,
                 const TextOptions& options, const Layout& layout);

/// What no line owns; no rows when all of it together does not matter.
Table other_table(const analysis::Profile& profile);

}  // namespace ridgeline::report
