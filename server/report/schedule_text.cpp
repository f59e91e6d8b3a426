#include "report/schedule_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::CriticalLine;
using analysis::StepSchedule;

constexpr std::size_t kScheduleLines = 8;
constexpr int kFigures = 10 + 8 + 15 + 12;  ///< columns behind the name

/// Negative when the step becomes longer.
std::string saving(double ms, double whole) {
  if (ms >= kNegligible * whole) {
    return "−" + duration(ms);
  }
  return ms <= -kNegligible * whole ? "+" + duration(-ms) : "–";
}

}  // namespace

void schedule_table(Page& page, const analysis::Profile& profile, const Places& places, const SourceLines& source) {
  if (!profile.schedule.has_value() || profile.schedule->host_only_ms >= profile.schedule->replayed_ms) {
    return;
  }
  const StepSchedule& schedule = *profile.schedule;
  const double whole = schedule.replayed_ms;
  page.line();
  page.flow("  " + page.bold(left("overlap", kBeside - 2)), kBeside,
            {{"host only", share(ratio(schedule.host_only_ms, whole))},
             {"device only", share(ratio(schedule.device_only_ms, whole))},
             {"both", share(ratio(schedule.both_ms, whole))},
             {"neither", share(ratio(schedule.neither_ms, whole))}});
  std::vector<CriticalLine> lines = schedule.lines;
  std::erase_if(lines, [&](const CriticalLine& line) {
    return std::max(line.cost.critical_ms, std::abs(line.cost.saved_twice_as_fast_ms)) < kNegligible * whole;
  });
  lines.resize(std::min(lines.size(), kScheduleLines));
  if (lines.empty()) {
    return;
  }
  const int name_width = page.width() - 2 - kFigures;
  page.line();
  page.line("  " + page.bold(left("ON THE CRITICAL PATH", name_width) + right("TIME", 10) + right("SHARE", 8) +
                             right("TWICE AS FAST", 15) + right("SLACK", 12)));
  for (const CriticalLine& line : lines) {
    std::string code = printable(source ? source(line.location).value_or("") : "");
    code.erase(0, code.find_first_not_of(' '));
    const std::string slack = line.cost.slack_ms > 0 ? duration(line.cost.slack_ms) : "–";
    page.line("  " + left(clip(places.name(line.location) + "  " + code, name_width - 2), name_width) +
              right(duration(line.cost.critical_ms), 10) + right(share(ratio(line.cost.critical_ms, whole)), 8) +
              right(saving(line.cost.saved_twice_as_fast_ms, whole), 15) + right(slack, 12));
  }
}

}  // namespace ridgeline::report
