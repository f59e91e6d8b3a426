#include "report/warnings.h"

#include <cstddef>

#include <fmt/format.h>

#include "report/plain_page.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

std::string more_warnings(std::size_t count) { return fmt::format("{} more warning{}", count, count == 1 ? "" : "s"); }

}  // namespace

std::vector<std::string> shown_warnings(const std::vector<std::string>& warnings, ShownWarnings shown) {
  const std::size_t most = shown == ShownWarnings::kAll ? warnings.size() : 1;
  std::vector<std::string> texts;
  for (const std::string& warning : warnings) {
    if (texts.size() == most) {
      texts.push_back(fmt::format("{}: --warnings", more_warnings(warnings.size() - most)));
      break;
    }
    texts.push_back(printable(warning));
  }
  return texts;
}

std::string warnings_html(const std::vector<std::string>& warnings) {
  std::string html;
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    if (i == 1) {
      html += "<details><summary>" + more_warnings(warnings.size() - 1) + "</summary>\n";
    }
    html += "<p class=\"warning\">" + escaped(warnings[i]) + "</p>\n";
  }
  return html + (warnings.size() > 1 ? "</details>\n" : "");
}

}  // namespace ridgeline::report
