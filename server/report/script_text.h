// What the text report says of a script that ran as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/values/script.h"
#include "report/page.h"

namespace ridgeline::report {

/// Where its steps end, what lies between them, and how it loads its data: labels with their sentences.
/// `peak_bytes`: of the recorded steps.
std::vector<Item> script_notes(const analysis::Script& script, std::uint64_t peak_bytes, bool batch_size_known);

}  // namespace ridgeline::report
