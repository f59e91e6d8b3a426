#include "report/checks.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "report/page.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

constexpr int kName = 8;       // where the names begin
constexpr int kText = 22;      // where the words begin
constexpr int kMaxLines = 12;  // of one check
constexpr std::array<const char*, 3> kStatusNames = {"ok", "note", "FAIL"};

}  // namespace

std::string text_checks(const std::vector<Check>& checks, const TextOptions& options) {
  Page page(std::clamp(options.width, 80, 140), options.color);
  const int room = kMaxLines * (page.width() - kText);
  for (const Check& check : checks) {
    const std::string status = left(kStatusNames[static_cast<std::size_t>(check.status)], kName - 2);
    page.prose(status + check.name, clip(printable(check.found), room), kText);
    if (!check.fix.empty()) page.prose("", clip("Fix: " + printable(check.fix), room), kText);
  }
  const auto failed = std::count_if(checks.begin(), checks.end(),
                                    [](const Check& check) { return check.status == CheckStatus::kFail; });
  page.line();
  page.line(failed == 0 ? "  All is well: ridgeline can profile here."
                        : fmt::format("  {} failed.", plural(static_cast<double>(failed), "check")));
  return page.take();
}

}  // namespace ridgeline::report
