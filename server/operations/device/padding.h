// Sizes of linear layers that pay: what a width that is no multiple of a vector costs on a processor.
//
// H. Zhu's thesis: tiles align with the execution unit and with memory transactions, or compute and move what is not
// used (sections 5.5.2 and 6.3.1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ridgeline::operations {

/// A linear layer of float32, y[rows, out] = x[rows, in] W^T, with the times of its products in a step, nanoseconds; 0:
/// the step does not have it.
struct LinearLayer {
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  double forward_ns = 0;
  double input_gradient_ns = 0;   ///< dx[rows, in]
  double weight_gradient_ns = 0;  ///< dW[out, in]
  double ns() const { return forward_ns + input_gradient_ns + weight_gradient_ns; }
};

/// The times of the layers' products once every `in` and `out` of `from` is `to`: each product takes as long as its
/// rows, its depth and the steps of its columns say. A row of columns is computed in vectors of 8; what remains takes
/// a step for each of 4, 2 and 1 in it. Rows of a result that is larger than `cache_bytes` take longer where they do
/// not begin at halves of vectors. As MKL computes on AMD's processors: docs/dev/architecture/hardware.md has how well
/// that holds. Pure.
double predicted_ns(std::span<const LinearLayer> layers, std::int64_t from, std::int64_t to, double cache_bytes);

struct Padded {
  std::int64_t size = 0;
  double ratio = 1;  ///< predicted time of the layers' products over the present one
  double low = 1;    ///< with kMostOfSaving
  double high = 1;   ///< with kLeastOfSaving
};

/// The one of the next multiples of 8 and 16 above `size` with the least predicted time; absent where none is predicted
/// to take less than kWorthPadding of the present time.
std::optional<Padded> best_padding(std::span<const LinearLayer> layers, std::int64_t size, double cache_bytes);

inline constexpr double kWorthPadding = 0.97;
/// Between which parts of the predicted saving those lie that were tried: docs/dev/architecture/hardware.md.
inline constexpr double kLeastOfSaving = 0.15;
inline constexpr double kMostOfSaving = 2;

}  // namespace ridgeline::operations
