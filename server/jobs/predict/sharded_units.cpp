#include "jobs/predict/sharded_units.h"

#include <numeric>

#include "jobs/predict/module_paths.h"

namespace ridgeline::jobs {

std::vector<std::size_t> unit_sizes(const std::vector<protocol::ReadyGradient>& gradients, const BucketRule& rule) {
  std::vector<std::uint64_t> bytes;
  for (const protocol::ReadyGradient& gradient : gradients) {
    bytes.push_back(gradient.bytes);
  }
  const auto module_at = [&](std::size_t gradient) { return module_of(gradients[gradient].name); };
  std::vector<std::size_t> units;
  std::size_t next = 0;
  for (const std::size_t size : bucket_sizes(bytes, rule)) {
    if (next == 0 || module_at(next) != module_at(next - 1)) {
      units.push_back(0);
    }
    units.back() += size;
    next += size;
  }
  return units;
}

std::vector<std::uint64_t> unit_bytes(const std::vector<std::uint64_t>& tensors,
                                      const std::vector<std::size_t>& sizes) {
  std::vector<std::uint64_t> units;
  auto next = tensors.cbegin();
  for (const std::size_t size : sizes) {
    const auto end = next + static_cast<std::ptrdiff_t>(size);
    units.push_back(std::accumulate(next, end, std::uint64_t{0}));
    next = end;
  }
  return units;
}

}  // namespace ridgeline::jobs
