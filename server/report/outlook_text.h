// The end of the text report: what other batch sizes bring, what grows, and how far the models can be trusted.
#pragma once

#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/page.h"

namespace ridgeline::report {

/// By label: "batch 64", "enough", "fits", "grows", "bends", "checked", "tried".
std::vector<Item> outlook_notes(const analysis::Profile& profile, const analysis::Outlook& outlook);

void print_outlook(Page& page, const analysis::Profile& profile, const analysis::Outlook& outlook);

}  // namespace ridgeline::report
