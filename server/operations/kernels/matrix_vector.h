// Programs for a product with one column: dot products along the depth, as a register block of C would be one element
// wide and its vectors empty.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "operations/kernels/matmul_model.h"
#include "operations/kernels/matmul_plan.h"

namespace ridgeline::operations {

/// All programs of a shape with one column, with their predicted times. Of their plans, `register_columns` counts
/// elements of the depth, whole vectors; nothing is packed, and there is one block.
std::vector<MatmulPlan> matrix_vector_plans(const MatmulShape& shape, const CoreRates& rates, int threads);

/// What follows the constants of matmul_source() in such a program: `run`.
std::string_view matrix_vector_template();

}  // namespace ridgeline::operations
