#include "report/checks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/page.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

constexpr int kName = 8;       // where the names begin
constexpr int kText = 21;      // where the text begins
constexpr int kMaxLines = 12;  // of one check
constexpr std::array<const char*, 3> kStatusNames = {"ok", "note", "FAIL"};

/// Wraps text from column kText on. A path is not cut, however long: the user may copy it.
void wrap(Page& page, std::string row, std::string_view text) {
  int used = kText;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (used > kText && used + 1 + columns(word) > page.width()) {
      page.line(std::exchange(row, left("", kText)));
      used = kText;
    }
    row.append(used > kText ? " " : "").append(word);
    used += columns(word) + (used > kText ? 1 : 0);
  }
  page.line(row);
}

}  // namespace

std::string text_checks(const std::vector<Check>& checks, const TextOptions& options) {
  Page page(std::clamp(options.width, kLeastWidth, 140), options.color);
  const int room = kMaxLines * (page.width() - kText);
  for (const Check& check : checks) {
    const std::string status = left(kStatusNames[static_cast<std::size_t>(check.status)], kName - 2);
    wrap(page, "  " + page.bold(left(status + check.name, kText - 2)), clip(printable(check.found), room));
    if (!check.fix.empty()) {
      wrap(page, left("", kText), clip("Fix: " + printable(check.fix), room));
    }
  }
  const auto failed = std::count_if(checks.begin(), checks.end(),
                                    [](const Check& check) { return check.status == CheckStatus::kFail; });
  page.line();
  page.line(failed == 0 ? "  All is well: ridgeline can profile here."
                        : fmt::format("  {} failed.", plural(static_cast<double>(failed), "check")));
  return page.take();
}

}  // namespace ridgeline::report
