// The report as one HTML file that opens in a browser, without a network.
#pragma once

#include <string>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// The page of web/ with the JSON report in it, the lines' source, and what is said of the figures elsewhere, word for
/// word. Strings from outside are printable text in JSON, which nothing inside can end: the page shows them as text,
/// and its policy allows no other script. UTF-8.
std::string html_report(const analysis::Profile& profile, const analysis::Outlook& outlook, const SourceLines& source);

}  // namespace ridgeline::report
