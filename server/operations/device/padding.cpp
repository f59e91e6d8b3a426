#include "operations/device/padding.h"

#include <bit>

namespace ridgeline::operations {

namespace {

constexpr std::int64_t kVector = 8;  // of float32 in MKL's kernels for processors of other vendors
constexpr double kRestStep = 1.25;   // vectors that a step of the rest takes as long as
constexpr double kUnaligned = 0.35;  // of the time of a row that begins at no half of a vector
constexpr double kElementBytes = 4;

/// A product of rows x columns and any depth, in relation to others of the same depth.
double relative_time(std::int64_t rows, std::int64_t columns, double cache_bytes) {
  const std::int64_t rest = columns % kVector;
  const std::int64_t whole = columns / kVector;
  const double steps = static_cast<double>(whole) + kRestStep * std::popcount(static_cast<std::uint64_t>(rest));
  const bool is_large = static_cast<double>(rows) * static_cast<double>(columns) * kElementBytes > cache_bytes;
  const double unaligned = is_large && rest % (kVector / 2) != 0 ? kUnaligned : 0;
  return static_cast<double>(rows) * steps * (1 + unaligned);
}

}  // namespace

double predicted_ns(std::span<const LinearLayer> layers, std::int64_t from, std::int64_t to, double cache_bytes) {
  const auto changed = [&](std::int64_t size) { return size == from ? to : size; };
  const auto ratio = [&](std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t new_rows,
                         std::int64_t new_columns, std::int64_t new_depth) {
    return relative_time(new_rows, new_columns, cache_bytes) / relative_time(rows, columns, cache_bytes) *
           static_cast<double>(new_depth) / static_cast<double>(depth);
  };
  double sum = 0;
  for (const LinearLayer& layer : layers) {
    const std::int64_t in = changed(layer.in);
    const std::int64_t out = changed(layer.out);
    sum += layer.forward_ns * ratio(layer.rows, layer.out, layer.in, layer.rows, out, in) +
           layer.input_gradient_ns * ratio(layer.rows, layer.in, layer.out, layer.rows, in, out) +
           layer.weight_gradient_ns * ratio(layer.out, layer.in, layer.rows, out, in, layer.rows);
  }
  return sum;
}

std::optional<Padded> best_padding(std::span<const LinearLayer> layers, std::int64_t size, double cache_bytes) {
  double now = 0;
  for (const LinearLayer& layer : layers) {
    now += layer.ns();
  }
  std::optional<Padded> best;
  for (const std::int64_t multiple : {kVector, 2 * kVector}) {
    const std::int64_t padded = (size + multiple - 1) / multiple * multiple;
    const double ratio = now > 0 ? predicted_ns(layers, size, padded, cache_bytes) / now : 1;
    if (ratio < kWorthPadding && (!best || ratio < best->ratio)) {
      best = Padded{padded, ratio, 1 - kMostOfSaving * (1 - ratio), 1 - kLeastOfSaving * (1 - ratio)};
    }
  }
  return best;
}

}  // namespace ridgeline::operations
