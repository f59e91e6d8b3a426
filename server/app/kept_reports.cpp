#include "app/kept_reports.h"

#include <utility>

#include "analysis/prediction/answers.h"
#include "app/profiling/find_profile.h"
#include "base/path.h"
#include "report/text_report.h"

namespace ridgeline::app {

namespace {

KeptReport report_of(const store::ProfileRow& row) {
  return {row.profile.id, row.key.entry, static_cast<std::uint64_t>(row.profile.created_s)};
}

}  // namespace

std::vector<KeptReport> kept_reports(const std::string& folder) {
  std::vector<KeptReport> reports;
  if (const auto rows = profiles_below(folder)) {
    for (const store::ProfileRow& row : *rows) {
      reports.push_back(report_of(row));
    }
  }
  return reports;
}

std::optional<KeptReportText> kept_report(const std::string& folder, const std::string& id) {
  const auto row = profile_of_id(id);
  if (!row || !row->has_value() || !base::is_below((*row)->key.entry, folder)) {
    return std::nullopt;
  }
  const auto profile = find_profile(id);
  if (!profile) {
    return std::nullopt;
  }
  const auto no_source = [](const analysis::Location& /*line*/) { return std::optional<std::string>(); };
  return KeptReportText{report_of(**row), report::text_report(*profile, analysis::outlook_of(*profile), no_source)};
}

}  // namespace ridgeline::app
