// Arithmetic of sizes and blocks.
#pragma once

#include <cstdint>

namespace ridgeline::operations {

inline constexpr std::int64_t kFloatBytes = 4;
inline constexpr auto kElementBytes = static_cast<double>(kFloatBytes);
/// Elements of each operand and of the result at most: 1 GiB.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 28U;

inline std::int64_t divided_up(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }
inline std::int64_t rounded_up(std::int64_t size, std::int64_t step) { return divided_up(size, step) * step; }

/// The part of `size` that each of at most `parts` has when they are divided into whole steps: the largest part.
inline std::int64_t part_of(std::int64_t size, std::int64_t parts, std::int64_t step) {
  const std::int64_t part = rounded_up(divided_up(size, parts), step);
  return part < size ? part : size;
}

}  // namespace ridgeline::operations
