#include "operations/device/wave_scaling.h"

#include <cmath>

namespace ridgeline::operations {

namespace {

const Rate* memory_rate(const Device& device) {
  return device.levels.empty() || !device.levels.back().bytes_per_s ? nullptr : &*device.levels.back().bytes_per_s;
}

/// From 1, bound by memory, to 0.
double memory_share(double intensity, double ridge) {
  return intensity < ridge ? 1 - 0.5 * intensity / ridge : 0.5 * ridge / intensity;
}

}  // namespace

std::optional<double> wave_scaled_ns(const OperationWork& work, const Device& from, const Device& to, double ns) {
  const Rate* near = memory_rate(from);
  const Rate* far = memory_rate(to);
  const Peak* peak = find_peak(to, "float32");
  if (near == nullptr || far == nullptr || peak == nullptr || !from.clock_hz || !to.clock_hz || work.bytes() <= 0) {
    return std::nullopt;
  }
  const double share = memory_share(work.flops / work.bytes(), peak->flop_per_s.all.value / far->all.value);
  const double units = static_cast<double>(from.compute_units) / to.compute_units;
  return ns * std::pow(near->all.value / far->all.value, share) *
         std::pow(units * from.clock_hz->value / to.clock_hz->value, 1 - share);
}

}  // namespace ridgeline::operations
