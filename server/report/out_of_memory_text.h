// What was allocated when a step ran out of memory, as notes of a report.
#pragma once

#include <vector>

#include "analysis/values/profile.h"
#include "report/page.h"

namespace ridgeline::report {

/// Who asked, what was allocated by category and by line, and what would fit.
std::vector<Item> out_of_memory_notes(const analysis::OutOfMemoryError& found);

}  // namespace ridgeline::report
