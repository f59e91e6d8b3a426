#include "operations/device/roofline.h"

#include <algorithm>

#include "operations/device/matrix_work.h"

namespace ridgeline::operations {

namespace {

/// Only matrices have peaks of their own by type: other operations on small types compute in float32.
std::string_view peak_dtype(const OperationWork& work) {
  return work.kind == OperationKind::kMatrix || work.dtype == "float64" ? std::string_view(work.dtype) : "float32";
}

std::optional<RooflineBound> compute_bound(const OperationWork& work, const Device& device, int units) {
  RooflineBound bound;
  if (work.flops > 0) {
    const Peak* peak = find_peak(device, peak_dtype(work));
    if (peak == nullptr) {
      return std::nullopt;
    }
    bound.compute_ns = work.flops / rate_of(peak->flop_per_s, units, device.compute_units) * 1e9;
  }
  return bound;
}

RooflineBound finished(RooflineBound bound) {
  bound.limit = bound.compute_ns > bound.memory_ns ? Limit::kCompute : Limit::kMemory;
  bound.ns = std::max(bound.compute_ns, bound.memory_ns);
  return bound;
}

void take_level(RooflineBound& bound, const MemoryLevel& level, double bytes, const Device& device, int units) {
  if (!level.bytes_per_s || bytes <= 0) {
    return;
  }
  const double ns = bytes / rate_of(*level.bytes_per_s, units, device.compute_units) * 1e9;
  if (ns > bound.memory_ns) {
    bound.memory_ns = ns;
    bound.level = level.name;
  }
}

}  // namespace

std::optional<RooflineBound> roofline_bound(const OperationWork& work, const Device& device, int units) {
  auto bound = compute_bound(work, device, units);
  if (!bound) {
    return std::nullopt;
  }
  double nearer = 0;  // bytes that the levels before can hold, all their instances together
  for (const MemoryLevel& level : device.levels) {
    take_level(*bound, level, work.bytes() - nearer, device, units);
    const int instances = std::max(1, std::min(units, device.compute_units) / std::max(1, level.shared_by_units));
    nearer = std::max(nearer, level.capacity_bytes * instances);
  }
  return finished(*bound);
}

std::optional<double> least_ns(const OperationCall& call, OperationWork work, const Device& device) {
  work.flops *= least_share_of_flops(call);
  if (work.kind == OperationKind::kMatrix && work.dtype == "float32" && find_peak(device, "tf32") != nullptr) {
    work.dtype = "tf32";
  }
  const auto bound = roofline_bound(work, device, device.compute_units);
  return bound ? std::optional(bound->ns) : std::nullopt;
}

std::optional<RooflineBound> plain_roofline(const OperationWork& work, const Device& device, int units) {
  auto bound = compute_bound(work, device, units);
  if (!bound || device.levels.empty()) {
    return std::nullopt;
  }
  take_level(*bound, device.levels.back(), work.bytes(), device, units);
  return finished(*bound);
}

}  // namespace ridgeline::operations
