// Programs for a product of matrices on a CPU, constructed rather than searched: rTiles (H. Zhu's thesis, chapter 6,
// "Roller").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/kernels/ranked.h"

namespace ridgeline::operations {

/// A convolution of images of float32 in NCHW, with square kernels.
struct Convolution {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t kernel = 0;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t output_height() const { return output(height); }  ///< below 1: the kernel is too large
  std::int64_t output_width() const { return output(width); }
  bool operator==(const Convolution&) const = default;

 private:
  std::int64_t output(std::int64_t size) const {
    const std::int64_t steps = size + 2 * padding - kernel;
    return steps < 0 ? 0 : steps / stride + 1;
  }
};

/// C[rows, columns] = A[rows, depth] B[depth, columns], all of float32, contiguous, row by row; `batches` of them, one
/// behind the other. What is fused with it is computed while C is in registers.
struct MatmulShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t batches = 1;
  bool bias = false;  ///< one value per column, added to each row; for a convolution one per row, added to each column
  bool relu = false;  ///< after that
  /// The convolution whose image patches are the right matrices; the left one, the weights, is the same for all.
  std::optional<Convolution> convolution = std::nullopt;
  bool transposed = false;  ///< the right matrix is stored as [columns, depth]: the weight of a linear layer
  bool operator==(const MatmulShape&) const = default;
};

/// "matmul ROWS COLUMNS DEPTH", as BLAS orders m, n and k, "bmm BATCHES ROWS COLUMNS DEPTH" or "linear ROWS COLUMNS
/// DEPTH", whose right matrix is transposed; behind each, in this order, "+ bias" and "+ relu".
base::Result<MatmulShape> parse_matmul(std::string_view text);

/// The text that parse_matmul() or parse_convolution() reads as this shape.
std::string matmul_text(const MatmulShape& shape);

/// Whether its programs are those of matrix_vector.h.
bool uses_dot_products(const MatmulShape& shape);

/// The blocks of one program. The loops, from the outside: threads' parts, column block, depth block, row block, panels
/// of B in a column block, panels of A in a row block; a register block of C is computed by each innermost step.
struct MatmulPlan {
  MatmulShape shape;
  std::int64_t vector_elements = 0;
  std::int64_t register_rows = 0;
  std::int64_t register_columns = 0;  ///< whole vectors
  std::int64_t depth_block = 0;       ///< a panel of A and of B of this depth stay in L1
  std::int64_t row_block = 0;         ///< whole register blocks; with depth_block: of A in L2
  std::int64_t column_block = 0;      ///< whole register blocks; with depth_block: of B in the last cache
  std::int64_t threads = 1;           ///< that the parts of all batches are divided among
  std::int64_t row_parts = 1;         ///< of C, each computed by a thread
  std::int64_t column_parts = 1;      ///< likewise
  bool pack_a = false;                ///< copied panel by panel, so that reads are contiguous
  bool pack_b = false;                ///< likewise; else only the columns beyond the last whole register block are
  double ns = 0;                      ///< predicted
  std::string slowest;                ///< the stage that takes longest: "compute", or a memory level
  bool operator==(const MatmulPlan&) const = default;

  std::int64_t part_rows() const;     ///< of the largest part: whole register blocks, or all
  std::int64_t part_columns() const;  ///< likewise
};

/// The best `top` programs. An error where the device lacks what the model needs: a measured processor has it all.
/// `threads`: at least 1, at most the device's compute units.
base::Result<Ranked<MatmulPlan>> construct_matmul(const MatmulShape& shape, const Device& device, int threads,
                                                  std::size_t top);

}  // namespace ridgeline::operations
