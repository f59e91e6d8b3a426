// What a line, or a function, of a document shows of its costs.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/values/profile.h"
#include "editor/snapshot.h"

namespace ridgeline::editor {

/// The greater of a line's shares, of the step by the time that is shown of it and of the peak.
double shown_part(const analysis::LineCost& line, const analysis::Profile& profile);

/// A function of which several lines have figures: what it costs with what it calls, as if that was a line of its own.
struct FunctionCost {
  std::size_t line = 0;  ///< of its name, in the document
  analysis::LineCost cost;
};

/// By line; none of a function that the whole step runs in. The document has figures.
std::vector<FunctionCost> function_costs(const Snapshot& snapshot);

}  // namespace ridgeline::editor
