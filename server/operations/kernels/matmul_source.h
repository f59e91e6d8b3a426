// The C++ source of a program.
#pragma once

#include <string>

#include "operations/kernels/matmul_plan.h"

namespace ridgeline::operations {

/// Complete, for GCC or Clang, which it needs vector extensions of; with OpenMP where the plan has several threads. Its
/// function is `extern "C" int ridgeline_matmul(const float* a, const float* b, float* c)`, with a bias `(a, b, bias,
/// c)`, and for a convolution `ridgeline_conv(images, weights, result)`: 0, or 1 without memory.
std::string matmul_source(const MatmulPlan& plan);

}  // namespace ridgeline::operations
