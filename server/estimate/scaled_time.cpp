#include "estimate/scaled_time.h"

#include <algorithm>
#include <cmath>
#include <string_view>
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
constexpr Factors kFloat32Product{0.55, 3.8};
constexpr Factors kBfloat16Product{0.55, 2.1};
constexpr double kLeastEfficiency = 0.5;  ///< of the roofline, that a product attained where it was timed
constexpr double kLeastWatts = 10e-12;    ///< for each FLOP/s of the peak

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

/// Of the GPU whose memory is most alike in speed, of those whose warps are as wide. Null: of none.
const TimeElsewhere* nearest_time(const Device& device, std::span<const TimeElsewhere> elsewhere) {
  const TimeElsewhere* nearest = nullptr;
  for (const TimeElsewhere& time : elsewhere) {
    const bool is_alike = time.device->kind == device.kind && time.device->vector_bytes == device.vector_bytes;
    if (is_alike && (nearest == nullptr || distance(device, *time.device) < distance(device, *nearest->device))) {
      nearest = &time;
    }
  }
  return device.kind == hardware::DeviceKind::kGpu ? nearest : nullptr;
}

/// Whether it may draw enough for its peak: the clock of others falls under a product.
bool has_power(const Device& device) {
  const hardware::Peak* peak = hardware::find_peak(device, "float32");
  return peak != nullptr && device.power_w && device.power_w->value >= kLeastWatts * peak->flop_per_s.all.value;
}

/// What products of the type may take beside the scaled time; nothing where that was not measured.
std::optional<Factors> product_factors(const hardware::OperationCall& call, std::string_view dtype, const Device& from,
                                       const Device& to) {
  const bool is_plain = call.operation == "aten::mm" || call.operation == "aten::addmm";
  if (dtype == "bfloat16" && is_plain) {
    return kBfloat16Product;
  }
  const bool is_float = dtype == "float32" && (is_plain || call.operation == "aten::bmm");
  return is_float && has_power(from) && has_power(to) ? std::optional(kFloat32Product) : std::nullopt;
}

}  // namespace

std::optional<Estimate> scaled_time(const hardware::OperationWork& work, const Device& device,
                                    std::span<const TimeElsewhere> elsewhere) {
  const TimeElsewhere* nearest = nearest_time(device, elsewhere);
  if (nearest == nullptr) {
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

std::optional<Estimate> scaled_product(const hardware::OperationCall& call, const Device& device,
                                       std::span<const TimeElsewhere> elsewhere) {
  using hardware::Limit;
  const TimeElsewhere* nearest = nearest_time(device, elsewhere);
  auto work = hardware::work_of(call);
  if (nearest == nullptr || !work) {
    return std::nullopt;
  }
  const Device& from = *nearest->device;
  const auto factors = product_factors(call, work->dtype, from, device);
  const auto there = hardware::plain_roofline(*work, from, from.compute_units);
  const auto here = hardware::plain_roofline(*work, device, device.compute_units);
  if (!factors || !there || !here || there->limit != Limit::kCompute || here->limit != Limit::kCompute ||
      there->ns < kLeastEfficiency * nearest->ns || there->ns > nearest->ns) {
    return std::nullopt;
  }
  const double ns = nearest->ns * here->ns / there->ns;
  double low = std::max(ns * factors->low, here->compute_ns);
  if (work->dtype == "float32" && hardware::find_peak(device, "tf32") != nullptr &&
      hardware::find_peak(from, "tf32") == nullptr) {
    work->dtype = "tf32";
    const auto bound = hardware::roofline_bound(*work, device, device.compute_units);
    low = bound ? std::min(low, bound->ns) : low;
  }
  return Estimate{ns, low, ns * factors->high, 1};
}

}  // namespace ridgeline::estimate
