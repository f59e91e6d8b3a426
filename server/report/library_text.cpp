#include "report/library_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

using analysis::LibraryCall;
using analysis::Profile;

namespace {

Table lines_table(const Page& page, const LibraryCall& call, const Places& places, const SourceLines& source) {
  Table table{.name_heading = "LIBRARY LINE BELOW " + places.name(call.location), .time_heading = "TIME"};
  int place_width = 0;
  for (const analysis::LibraryLine& line : call.lines) {
    std::string code = printable(source ? source(line.location).value_or("") : "");
    code.erase(0, code.find_first_not_of(' '));
    table.rows.push_back({.lead = clip_front(places.name(line.location), std::max(16, page.width() / 4)),
                          .name = std::move(code),
                          .ms = line.ms,
                          .bytes = static_cast<double>(line.peak_bytes)});
    place_width = std::max(place_width, columns(table.rows.back().lead));
  }
  for (Row& row : table.rows) {
    row.lead = left(row.lead, place_width + 2);
  }
  return table;
}

Table modules_table(const LibraryCall& call, const Places& places) {
  Table table{.name_heading = "MODULES BELOW " + places.name(call.location), .time_heading = "TIME"};
  for (const analysis::LibraryModule& module : call.modules) {
    table.rows.push_back({.name = printable(module.type),
                          .note = plural(static_cast<double>(module.instances), "module"),
                          .ms = module.ms,
                          .bytes = static_cast<double>(module.peak_bytes)});
  }
  return table;
}

}  // namespace

std::vector<Table> library_tables(const Page& page, const Profile& profile, const Places& places,
                                  const SourceLines& source) {
  if (!profile.library_call) {
    return {};
  }
  return {lines_table(page, *profile.library_call, places, source), modules_table(*profile.library_call, places)};
}

std::string library_note(const Profile& profile) {
  const std::vector<std::string> packages = analysis::packages_of(profile.library_call);
  return packages.empty()
             ? ""
             : fmt::format("`--code {}` shows the costs of the lines of these packages", fmt::join(packages, ","));
}

}  // namespace ridgeline::report
