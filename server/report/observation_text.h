// The observations that a profile makes true or not, as every report shows them.
#pragma once

#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/page.h"

namespace ridgeline::report {

/// Those from which something follows for this step: the statement with its figures, and what to do.
std::vector<Item> observation_notes(const analysis::Profile& profile, const analysis::Outlook& outlook);

}  // namespace ridgeline::report
