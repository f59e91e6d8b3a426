// The text of lines that a report shows.
#pragma once

#include <string>

#include "report/text_report.h"

namespace ridgeline::app {

/// Lines of the user's files, each file read once, when it is first asked for. The files may have changed since the
/// profile: then the text is of today. Relative paths are below `root`.
report::SourceLines source_lines(const std::string& root);

}  // namespace ridgeline::app
