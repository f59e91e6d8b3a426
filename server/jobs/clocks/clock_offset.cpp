#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "jobs/clocks/align_clocks.h"

namespace ridgeline::jobs {

std::optional<double> ClockOffset::drift_ppm() const {
  const auto span = static_cast<double>(end_ns - begin_ns);
  if (!drift_known || span <= 0) {
    return std::nullopt;
  }
  return 1e6 * (at_end.estimate - at_begin.estimate) / span;
}

OffsetRange ClockOffset::range_at(std::int64_t local_ns) const {
  const auto span = static_cast<double>(end_ns - begin_ns);
  const double part = span > 0 ? static_cast<double>(local_ns - begin_ns) / span : 0;
  const auto between = [&](double begin, double end) { return begin + part * (end - begin); };
  return {between(at_begin.estimate, at_end.estimate), between(at_begin.lowest, at_end.lowest),
          between(at_begin.highest, at_end.highest)};
}

std::int64_t ClockOffset::aligned(std::int64_t local_ns) const {
  return local_ns + base_ns + std::llround(range_at(local_ns).estimate);
}

void ClockOffset::widen(const ClockOffset& by) {
  for (OffsetRange* range : {&at_begin, &at_end}) {
    range->lowest -= std::max(by.at_begin.estimate - by.at_begin.lowest, by.at_end.estimate - by.at_end.lowest);
    range->highest += std::max(by.at_begin.highest - by.at_begin.estimate, by.at_end.highest - by.at_end.estimate);
  }
  drift_known = drift_known && by.drift_known;
}

}  // namespace ridgeline::jobs
