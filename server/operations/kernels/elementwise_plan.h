// Programs for a chain of operations on elements: one pass over the operands, whatever the number of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/kernels/expression.h"
#include "operations/kernels/ranked.h"

namespace ridgeline::operations {

/// A matrix of float32, row by row, as its operands are.
struct ElementwiseShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Expression expression;
  bool has_rows() const;  ///< operands that are one row
  bool operator==(const ElementwiseShape&) const = default;
};

/// "elementwise ROWS COLUMNS = EXPRESSION".
base::Result<ElementwiseShape> parse_elementwise(std::string_view text);

/// The text that parse_elementwise() reads as this shape.
std::string elementwise_text(const ElementwiseShape& shape);

/// The loops, from the outside: threads' parts, column blocks, rows, steps of some vectors.
struct ElementwisePlan {
  ElementwiseShape shape;
  std::int64_t rows = 0;     ///< of the loops: without operands of one row, both axes are fused to one row
  std::int64_t columns = 0;  ///< likewise
  std::int64_t vector_elements = 0;
  std::int64_t step_vectors = 0;
  std::int64_t column_block = 0;  ///< whole steps, or all columns: of it, operands of one row stay in L1
  std::int64_t threads = 1;       ///< one for each part
  std::int64_t row_parts = 1;
  std::int64_t column_parts = 1;
  double ns = 0;        ///< predicted
  std::string slowest;  ///< the stage that takes longest: "compute", or a memory level
  bool operator==(const ElementwisePlan&) const = default;

  std::int64_t step_columns() const { return step_vectors * vector_elements; }
  std::int64_t part_rows() const;     ///< of the largest part
  std::int64_t part_columns() const;  ///< likewise: whole steps, or all
};

/// The best `top` programs, as construct_matmul(). The operands are where they fit when the program begins.
base::Result<Ranked<ElementwisePlan>> construct_elementwise(const ElementwiseShape& shape, const Device& device,
                                                            int threads, std::size_t top);

/// Complete, as matmul_source(). Its function `ridgeline_elementwise` takes the operands in the order of their first
/// use, and then the result.
std::string elementwise_source(const ElementwisePlan& plan);

}  // namespace ridgeline::operations
