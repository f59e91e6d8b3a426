#include "analysis/time/noise.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ridgeline::analysis {

namespace {

/// A difference of two runs below this is noise on any machine.
constexpr double kLeastChange = 0.02;

}  // namespace

bool differ(const TimeSample& a, const TimeSample& b) {
  const double widths = std::hypot(relative_width(a.ms), relative_width(b.ms)) / 2;
  const double noise = std::max({kLeastChange, widths, a.aa_noise, b.aa_noise});
  return std::abs(a.ms.value / b.ms.value - 1) > noise;
}

const TimeSample* sample_of(const Profile& profile, int batch_size) {
  const auto found = std::ranges::find(profile.time_samples, batch_size, &TimeSample::batch_size);
  return found == profile.time_samples.end() || found->ms.value <= 0 ? nullptr : &*found;
}

std::string uncertainty(const Profile& profile) {
  if (!is_uncertain(profile)) {
    return {};
  }
  if (has_too_few_iterations(profile)) {
    const int count = profile.iteration.iterations;
    return fmt::format("The iteration time is that of {} iteration{}: too few for a 95 % interval.", count,
                       count == 1 ? "" : "s");
  }
  const double percent = std::min(100 * relative_width(profile.iteration.ms), 1e9);
  return fmt::format("The iteration time varies a lot: its 95 % interval is {:.0f} % wide.", percent);
}

}  // namespace ridgeline::analysis
