// Whatever `ridgeline kernel` can construct programs for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/kernels/cuda_plan.h"
#include "operations/kernels/elementwise_plan.h"
#include "operations/kernels/matmul_plan.h"
#include "operations/kernels/ranked.h"
#include "operations/kernels/reduction_plan.h"

namespace ridgeline::operations {

using Plan = std::variant<MatmulPlan, ElementwisePlan, ReductionPlan, CudaPlan>;

/// An error says what is wrong, and which operations there are.
base::Result<Operation> parse_operation(std::string_view text);

/// The text that parse_operation() reads as this operation.
std::string operation_text(const Operation& operation);

/// The best `top` programs by prediction. An error where the device lacks what the model needs: a measured processor
/// has it all. `threads`: at least 1, at most the device's compute units; of a GPU they do not matter.
base::Result<Ranked<Plan>> construct(const Operation& operation, const Device& device, int threads, std::size_t top);

/// A complete source in C++, for GCC or Clang; for a GPU in CUDA C++.
std::string program_source(const Plan& plan);

/// Predicted, in nanoseconds.
double predicted_ns(const Plan& plan);

/// The stage that takes longest: "compute", or a memory level.
const std::string& slowest_stage(const Plan& plan);

}  // namespace ridgeline::operations
