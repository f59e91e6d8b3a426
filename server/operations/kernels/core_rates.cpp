#include "operations/kernels/core_rates.h"

#include <algorithm>

#include "operations/kernels/sizes.h"

namespace ridgeline::operations {

const CoreRates::Level& CoreRates::holding(double bytes) const {
  const auto found = std::ranges::find_if(levels, [&](const Level& level) { return bytes <= level.capacity_bytes; });
  return found == levels.end() ? levels.back() : *found;
}

base::Result<CoreRates> core_rates(const Device& device, int threads) {
  const Peak* peak = find_peak(device, "float32");
  const std::string measure = "; measure this processor with `ridgeline machine measure`";
  if (device.kind != DeviceKind::kCpu) {
    return base::error(device.name + " is not a processor: kernels are made for processors only");
  }
  if (peak == nullptr || device.vector_bytes < static_cast<double>(kFloatBytes) || device.levels.size() < 2) {
    return base::error(device.name + ": the peak of float32, the width of vectors or the caches are not known" +
                       measure);
  }
  const auto share = [&](const Rate& rate) {
    return threads == 1 && rate.one_unit ? rate.one_unit->value : rate.all.value / device.compute_units;
  };
  const auto vector = device.vector_bytes / kElementBytes;
  // Where the clock is not known: of two multiply-adds in each cycle.
  const double cycle_s = device.clock_hz ? 1 / device.clock_hz->value : 4 * vector / share(peak->flop_per_s);
  CoreRates rates{share(peak->flop_per_s),
                  4 * cycle_s,
                  device.vector_bytes,
                  device.levels.front().transaction_bytes,
                  device.vector_bytes >= 64 ? 32 : 16,
                  {}};
  for (const MemoryLevel& level : device.levels) {
    if (!level.bytes_per_s) {
      return base::error(device.name + ": the bandwidth of " + level.name + " is not known" + measure);
    }
    const double users = std::min(threads, std::max(1, level.shared_by_units));
    rates.levels.push_back({level.name, level.capacity_bytes / users, share(*level.bytes_per_s)});
  }
  return rates;
}

std::vector<int> tried_threads(int threads) {
  return threads == 1 ? std::vector<int>{1} : std::vector<int>{1, threads};
}

Stage slowest_of(const std::vector<Stage>& stages) { return *std::ranges::max_element(stages, {}, &Stage::seconds); }

}  // namespace ridgeline::operations
