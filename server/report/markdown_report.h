// The report for a pull request or an issue: key figures, the costliest lines, and what to make of them.
#pragma once

#include <string>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// GitHub's Markdown. Nothing from the user's code or machine acts as markup. Ends with a newline.
std::string markdown_report(const analysis::Profile& profile, const analysis::Outlook& outlook,
                            const SourceLines& source, ShownWarnings warnings = ShownWarnings::kFirst);

}  // namespace ridgeline::report
