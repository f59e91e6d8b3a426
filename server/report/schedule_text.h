// The critical path of a step, in the text report.
#pragma once

#include "analysis/values/profile.h"
#include "report/page.h"
#include "report/places.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// What decides how long the step takes: which side works, and the lines whose speed matters most. Nothing where host
/// and device do not overlap: there every line matters by its own time.
void schedule_table(Page& page, const analysis::Profile& profile, const Places& places, const SourceLines& source);

}  // namespace ridgeline::report
