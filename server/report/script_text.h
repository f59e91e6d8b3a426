// What the text report says of a script that ran as it is.
#pragma once

#include <vector>

#include "analysis/values/script.h"
#include "report/page.h"

namespace ridgeline::report {

/// Where its steps end, what lies between them, and how it loads its data: labels with their sentences.
std::vector<Item> script_notes(const analysis::Script& script);

}  // namespace ridgeline::report
