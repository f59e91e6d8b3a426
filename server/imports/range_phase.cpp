#include "imports/range_phase.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

#include "base/text.h"

namespace ridgeline::imports {

RangePhase phase_of_range(const TraceEvent& event, std::string_view name, TraceSource source) {
  if (name.starts_with("Optimizer.")) {
    return RangePhase::kOptimizer;
  }
  if (name.starts_with("enumerate(DataLoader)")) {
    return RangePhase::kData;
  }
  if (source != TraceSource::kNsightSystems || event.kind != EventKind::kAnnotation) {
    return RangePhase::kUnknown;
  }
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) { return std::tolower(letter); });
  const auto has_any = [&](std::initializer_list<std::string_view> parts) {
    return std::ranges::any_of(parts, [&](std::string_view part) { return base::contains(lower, part); });
  };
  if (has_any({"backward", "bwd"})) {
    return RangePhase::kBackward;
  }
  if (has_any({"optim", "opt_step", "opt.step", "opt step", "zero_grad", "weight update"})) {
    return RangePhase::kOptimizer;
  }
  return has_any({"data", "load batch", "load_batch", "next batch", "next_batch", "h2d", "to device", "to_device"})
             ? RangePhase::kData
             : RangePhase::kUnknown;
}

}  // namespace ridgeline::imports
