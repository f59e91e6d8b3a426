// What a line that calls a library for most of the step spends it on.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/profile.h"
#include "report/page.h"
#include "report/places.h"
#include "report/table.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// The library's lines and the classes of its modules, a table each; none where there is no such line.
std::vector<Table> library_tables(const Page& page, const analysis::Profile& profile, const Places& places,
                                  const SourceLines& source);

/// How the lines of that library get figures of their own: "`--code transformers` ..."; empty where that is not known.
std::string library_note(const analysis::Profile& profile);

}  // namespace ridgeline::report
