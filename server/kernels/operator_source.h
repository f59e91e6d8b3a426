// Programs as an operator of PyTorch.
#pragma once

#include <string>

#include "base/result.h"
#include "hardware/device.h"
#include "kernels/matmul_plan.h"

namespace ridgeline::kernels {

/// A Python module whose function `product` computes what `forward` does, as a custom operator with a gradient. It
/// compiles its programs when it is imported, with CXX or c++. The products of the gradient are the best predicted
/// programs of their shapes for `device`: nothing timed them. An error where these cannot be constructed.
base::Result<std::string> operator_module(const MatmulPlan& forward, const hardware::Device& device, int threads);

}  // namespace ridgeline::kernels
