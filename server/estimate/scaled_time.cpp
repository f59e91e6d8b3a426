#include "estimate/scaled_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hardware/roofline.h"
#include "hardware/wave_scaling.h"

namespace ridgeline::estimate {

namespace {

using hardware::Device;
using hardware::OperationKind;

/// The least and the most that a time may be of the scaled one.
struct Factors {
  double low = 1;
  double high = 1;
};
constexpr Factors kElementwise{0.8, 1.25};
constexpr Factors kReduction{0.45, 2.2};

/// Of the caches of a GPU that all its units share.
double cache_bytes(const Device& device) {
  double bytes = 0;
  for (std::size_t i = 0; i + 1 < device.levels.size(); ++i) {
    const hardware::MemoryLevel& level = device.levels[i];
    if (level.shared_by_units > 1) {
      bytes = std::max(bytes, level.capacity_bytes * device.compute_units / level.shared_by_units);
    }
  }
  return bytes;
}

/// How unlike in speed their memories are; infinite where that is not known.
double distance(const Device& one, const Device& other) {
  const auto rate = [](const Device& device) {
    return device.levels.empty() || !device.levels.back().bytes_per_s ? 0 : device.levels.back().bytes_per_s->all.value;
  };
  return std::abs(std::log(rate(one) / rate(other)));
}

}  // namespace

std::optional<Estimate> scaled_time(const hardware::OperationWork& work, const Device& device,
                                    std::span<const TimeElsewhere> elsewhere) {
  const TimeElsewhere* nearest = nullptr;
  for (const TimeElsewhere& time : elsewhere) {
    const bool has_its_kernels = time.device->kind == device.kind && time.device->vector_bytes == device.vector_bytes;
    if (has_its_kernels &&
        (nearest == nullptr || distance(device, *time.device) < distance(device, *nearest->device))) {
      nearest = &time;
    }
  }
  if (nearest == nullptr || device.kind != hardware::DeviceKind::kGpu) {
    return std::nullopt;
  }
  const bool is_alike = work.kind == OperationKind::kElementwise || work.kind == OperationKind::kReduction;
  if (!is_alike || work.bytes() < std::max(cache_bytes(device), cache_bytes(*nearest->device))) {
    return std::nullopt;
  }
  const auto ns = hardware::wave_scaled_ns(work, *nearest->device, device, nearest->ns);
  const auto bound = hardware::roofline_bound(work, device, device.compute_units);
  if (!ns || !bound) {
    return std::nullopt;
  }
  const Factors factors = work.kind == OperationKind::kElementwise ? kElementwise : kReduction;
  const auto at_least = [&](double value) { return std::max(value, bound->ns); };
  return Estimate{at_least(*ns), at_least(*ns * factors.low), at_least(*ns * factors.high), 1};
}

}  // namespace ridgeline::estimate
