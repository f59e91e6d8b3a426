// Lines, and what no line owns: together the whole iteration.
#pragma once

#include "analysis/values/profile.h"
#include "report/page.h"
#include "report/places.h"
#include "report/table.h"
#include "report/text.h"

namespace ridgeline::report {

/// The costliest lines in time, the largest holders of memory, and the sum of the others.
Table line_table(const Page& page, const analysis::Profile& profile, const Places& places, const SourceLines& source,
                 const TextOptions& options, const Layout& layout);

/// What no line owns; no rows when all of it together does not matter.
Table other_table(const analysis::Profile& profile);

}  // namespace ridgeline::report
