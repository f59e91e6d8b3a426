// What the text report says of a script that ran as it is.
#pragma once

#include <string>

#include "analysis/values/script.h"
#include "report/page.h"

namespace ridgeline::report {

/// Where its steps end, what lies between them, and how it loads its data.
void script_notes(Page& page, const analysis::Script& script);

}  // namespace ridgeline::report
