// The end of the text report: what other batch sizes bring, what grows, and how far the models can be trusted.
#pragma once

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/page.h"

namespace ridgeline::report {

void outlook_text(Page& page, const analysis::Profile& profile, const analysis::Outlook& outlook);

}  // namespace ridgeline::report
