// Time and memory by user line, and the remainder that belongs to no line.
#pragma once

#include <vector>

#include "analysis/breakdown/breakdown.h"

namespace ridgeline::analysis {

struct LineTable {
  std::vector<LineCost> lines;  ///< most self time first
  std::vector<OtherCost> other;
  double user_ms = 0;  ///< sum of the lines' self times
};

/// Σ self of the lines + Σ of the other items = the iteration; Σ peak bytes of both = the peak.
LineTable build_lines(const BreakdownInput& input);

}  // namespace ridgeline::analysis
