#include "assistant/kept_resources.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/kept_reports.h"
#include "assistant/answer_text.h"
#include "assistant/mcp_texts.h"
#include "base/path.h"
#include "report/wording.h"

namespace ridgeline::assistant {

namespace {

constexpr std::size_t kMostReportBytes = std::size_t{32} << 10U;

std::string name_in(const std::string& folder, const std::string& entry) {
  return in_quotes(std::string(base::relative_to(entry, folder).value_or(entry)));
}

}  // namespace

Json kept_resources(const std::string& folder, const std::vector<std::string>& known) {
  Json list = Json::array();
  for (const app::KeptReport& kept : app::kept_reports(folder)) {
    if (std::ranges::find(known, kept.id) == known.end()) {
      list.push_back(
          profile_resource(kept.id, name_in(folder, kept.entry), "Measured " + report::utc_text(kept.created_s)));
    }
  }
  return list;
}

std::optional<std::string> kept_resource(const std::string& folder, const std::string& profile_id) {
  const auto found = app::kept_report(folder, profile_id);
  if (!found.has_value()) {
    return std::nullopt;
  }
  return fmt::format("Stored profile {} of {}, measured {}; the code may have changed since.\n", profile_id,
                     name_in(folder, found->report.entry), report::utc_text(found->report.created_s)) +
         quoted_lines(found->text, kMostReportBytes) + kQuotedNote;
}

}  // namespace ridgeline::assistant
