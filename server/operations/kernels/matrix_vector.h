// Kernels for matrix-vector products (N = 1). They vectorize along K, since a register tile of C would be one column
// wide.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "operations/kernels/matmul_model.h"
#include "operations/kernels/matmul_plan.h"

namespace ridgeline::operations {

/// All programs of a shape with one column, with their predicted times. In these plans `register_columns` is how many
/// elements of K are unrolled, a multiple of the vector width; operands are not packed, and there is a single block.
std::vector<MatmulPlan> matrix_vector_plans(const MatmulShape& shape, const CoreRates& rates, int threads);

/// What follows the constants of matmul_source() in such a program: `run`.
std::string_view matrix_vector_template();

}  // namespace ridgeline::operations
