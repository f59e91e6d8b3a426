// What torch.compile did, as notes of a report.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/compilation.h"
#include "report/page.h"

namespace ridgeline::report {

/// How much was compiled and for how long, each graph break, and each function that was compiled again; of each at most
/// five.
std::vector<Item> compilation_notes(const analysis::Compilation& compilation);

/// As a diagnostic at the line.
std::string graph_break_text(const analysis::GraphBreak& found);
std::string recompilation_text(const analysis::CompiledFunction& function);

}  // namespace ridgeline::report
