// The observations that a profile makes true or not, as every report shows them.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/page.h"

namespace ridgeline::report {

/// An observation that is about a line and from which something follows.
struct LineObservation {
  analysis::Location location;
  std::string sentence;  ///< the statement with its figures, and what to do
};
std::vector<LineObservation> line_observations(const analysis::Profile& profile, const analysis::Outlook& outlook);

/// Those from which something follows for this step: the statement with its figures, and what to do.
std::vector<Item> observation_notes(const analysis::Profile& profile, const analysis::Outlook& outlook);

}  // namespace ridgeline::report
