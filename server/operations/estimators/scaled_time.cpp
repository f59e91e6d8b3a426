#include "operations/estimators/scaled_time.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "operations/device/matrix_work.h"
#include "operations/device/roofline.h"
#include "operations/device/wave_scaling.h"

namespace ridgeline::operations {

namespace {

/// The least and the most that a time may be of the scaled one.
struct Factors {
  double low = 1;
  double high = 1;
};
constexpr Factors kElementwise{0.8, 1.25};
constexpr Factors kReduction{0.45, 2.2};
constexpr Factors kFloat32Product{0.55, 3.8};
constexpr Factors kBfloat16Product{0.55, 2.1};
constexpr Factors kPlainConvolution{0.55, 2.6};  ///< forward, 3 x 3, without a stride
constexpr Factors kConvolution{0.25, 6};
constexpr double kLeastEfficiency = 0.5;     ///< of the roofline, that a product attained where it was timed
constexpr double kWattsOfProducts = 10e-12;  ///< for each FLOP/s of the peak
constexpr double kWattsOfConvolutions = 8e-12;

/// Bytes of the caches of a GPU that all its units share.
double cache_bytes(const Device& device) {
  double bytes = 0;
  for (std::size_t i = 0; i + 1 < device.levels.size(); ++i) {
    const MemoryLevel& level = device.levels[i];
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

/// The time on the GPU with the most similar memory bandwidth among those whose warps are as wide; null: none is.
const TimeElsewhere* nearest_time(const Device& device, std::span<const TimeElsewhere> elsewhere) {
  const TimeElsewhere* nearest = nullptr;
  for (const TimeElsewhere& time : elsewhere) {
    const bool is_alike = time.device->kind == device.kind && time.device->vector_bytes == device.vector_bytes;
    if (is_alike && (nearest == nullptr || distance(device, *time.device) < distance(device, *nearest->device))) {
      nearest = &time;
    }
  }
  return device.kind == DeviceKind::kGpu ? nearest : nullptr;
}

/// Whether it may draw enough for its peak: the clock of others falls under a product.
bool has_power(const Device& device, double least_watts) {
  const Peak* peak = find_peak(device, "float32");
  return peak != nullptr && device.power_w && device.power_w->value >= least_watts * peak->flop_per_s.all.value;
}

bool are_all(const std::vector<std::int64_t>& numbers, std::int64_t value) {
  return std::ranges::all_of(numbers, [&](std::int64_t number) { return number == value; });
}

/// In two dimensions, without dilation and groups, of contiguous tensors: what the tables have.
std::optional<Factors> convolution_factors(const OperationCall& call) {
  const bool backward = call.operation == "aten::convolution_backward";
  const std::size_t shift = backward ? 1 : 0;  // of the arguments, by the gradient and the sizes of the bias
  const TensorShape* weight = call.argument(1 + shift).tensor();
  const auto tensors = call.tensors();
  if ((!backward && call.operation != "aten::convolution") || weight == nullptr || weight->sizes.size() != 4 ||
      !std::ranges::all_of(tensors, [](const auto* tensor) { return tensor->is_contiguous(); }) ||
      !are_all(call.argument(5 + shift).numbers(), 1) || call.argument(6 + shift).is_true() ||
      call.argument(8 + shift).whole().value_or(1) != 1) {
    return std::nullopt;
  }
  const bool is_plain =
      !backward && weight->sizes[2] == 3 && weight->sizes[3] == 3 && are_all(call.argument(3).numbers(), 1);
  return is_plain ? kPlainConvolution : kConvolution;
}

/// What the operation may take beside the scaled time; nothing where that was not measured.
std::optional<Factors> factors_of(const OperationCall& call, std::string_view dtype, const Device& from,
                                  const Device& to) {
  const auto have_power = [&](double least_watts) {
    return has_power(from, least_watts) && has_power(to, least_watts);
  };
  const bool is_plain = call.operation == "aten::mm" || call.operation == "aten::addmm";
  if (dtype == "bfloat16" && is_plain) {
    return kBfloat16Product;
  }
  if (dtype != "float32") {
    return std::nullopt;
  }
  if (is_plain || call.operation == "aten::bmm") {
    return have_power(kWattsOfProducts) ? std::optional(kFloat32Product) : std::nullopt;
  }
  const bool have_tf32 = find_peak(from, "tf32") != nullptr || find_peak(to, "tf32") != nullptr;
  return !have_tf32 && have_power(kWattsOfConvolutions) ? convolution_factors(call) : std::nullopt;
}

/// Whether computing bounds it on both GPUs and it attained enough where it was timed.
bool is_bound_alike(const RooflineBound& there, const RooflineBound& here, double ns) {
  return there.limit == Limit::kCompute && here.limit == Limit::kCompute && there.ns >= kLeastEfficiency * ns;
}

}  // namespace

std::optional<Estimate> scaled_time(const OperationWork& work, const Device& device,
                                    std::span<const TimeElsewhere> elsewhere) {
  const TimeElsewhere* nearest = nearest_time(device, elsewhere);
  if (nearest == nullptr) {
    return std::nullopt;
  }
  const bool is_alike = work.kind == OperationKind::kElementwise || work.kind == OperationKind::kReduction;
  if (!is_alike || work.bytes() < std::max(cache_bytes(device), cache_bytes(*nearest->device))) {
    return std::nullopt;
  }
  const auto ns = wave_scaled_ns(work, *nearest->device, device, nearest->ns);
  const auto bound = roofline_bound(work, device, device.compute_units);
  if (!ns || !bound) {
    return std::nullopt;
  }
  const Factors factors = work.kind == OperationKind::kElementwise ? kElementwise : kReduction;
  const auto at_least = [&](double value) { return std::max(value, bound->ns); };
  return Estimate{at_least(*ns), at_least(*ns * factors.low), at_least(*ns * factors.high), 1};
}

std::optional<Estimate> scaled_product(const OperationCall& call, const Device& device,
                                       std::span<const TimeElsewhere> elsewhere) {
  const TimeElsewhere* nearest = nearest_time(device, elsewhere);
  const auto work = work_of(call);
  if (nearest == nullptr || !work) {
    return std::nullopt;
  }
  const Device& from = *nearest->device;
  const auto factors = factors_of(call, work->dtype, from, device);
  const auto there = plain_roofline(*work, from, from.compute_units);
  const auto here = plain_roofline(*work, device, device.compute_units);
  if (!factors || !there || !here || !is_bound_alike(*there, *here, nearest->ns)) {
    return std::nullopt;
  }
  const double least_share = least_share_of_flops(call);
  if (nearest->ns < there->compute_ns * least_share) {
    return std::nullopt;
  }
  const double ns = nearest->ns * here->ns / there->ns;
  double low = std::max(ns * factors->low, here->compute_ns * least_share);
  if (work->dtype == "float32" && find_peak(device, "tf32") != nullptr && find_peak(from, "tf32") == nullptr) {
    low = std::min(low, least_ns(call, *work, device).value_or(low));
  }
  return Estimate{ns, low, ns * factors->high, 1};
}

std::optional<Estimate> scaled(const OperationCall& call, const OperationWork& work, const Device& device,
                               std::span<const TimeElsewhere> elsewhere) {
  const auto found = scaled_time(work, device, elsewhere);
  return found ? found : scaled_product(call, device, elsewhere);
}

}  // namespace ridgeline::operations
