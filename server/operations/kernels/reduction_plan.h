// Programs for a reduction of a matrix along one of its dimensions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/kernels/ranked.h"

namespace ridgeline::operations {

enum class Reduction : std::uint8_t { kSum, kMean, kMax };

/// A reduction of a matrix of float32, row by row.
struct ReductionShape {
  Reduction reduction = Reduction::kSum;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int dim = 1;  ///< as torch counts: 0 leaves a result for each column, 1 for each row
  bool operator==(const ReductionShape&) const = default;

  std::int64_t results() const { return dim == 0 ? columns : rows; }
};

/// "reduce sum|mean|max ROWS COLUMNS dim 0|1".
base::Result<ReductionShape> parse_reduction(std::string_view text);

/// The text that parse_reduction() reads as this shape.
std::string reduction_text(const ReductionShape& shape);

/// "sum", "mean" or "max".
std::string reduction_name(Reduction reduction);

/// Results are divided among threads. What is added up in registers is a chunk; the chunks' results are added up then,
/// so that rounding errors grow with the chunks' size and number and not with all elements.
struct ReductionPlan {
  ReductionShape shape;
  std::int64_t vector_elements = 0;
  std::int64_t step_rows = 1;     ///< rows of which elements are in registers at once; 1 for dim 0
  std::int64_t step_vectors = 0;  ///< of each such row
  std::int64_t chunk = 0;         ///< elements of a chunk along the dimension: for dim 1 whole steps
  std::int64_t threads = 1;       ///< one for each part of the results
  double ns = 0;                  ///< predicted
  std::string slowest;            ///< the stage that takes longest: "compute", or a memory level
  bool operator==(const ReductionPlan&) const = default;

  std::int64_t step_columns() const { return step_vectors * vector_elements; }
  std::int64_t part() const;  ///< results of the largest part: for dim 0 whole steps, or all
};

/// The best `top` programs, as construct_matmul(). The matrix is where it fits when the program begins.
base::Result<Ranked<ReductionPlan>> construct_reduction(const ReductionShape& shape, const Device& device, int threads,
                                                        std::size_t top);

/// Complete, as matmul_source(). Its function is `ridgeline_reduce(const float* a, float* result)`.
std::string reduction_source(const ReductionPlan& plan);

}  // namespace ridgeline::operations
