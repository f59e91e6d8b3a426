// Predicts how long a generated program takes: its slowest pipeline stage, plus updating C and packing panels.
#pragma once

#include "operations/kernels/core_rates.h"
#include "operations/kernels/matmul_plan.h"

namespace ridgeline::operations {

/// Fills in `ns` and `slowest`. At the start, all matrices are in the nearest memory level that holds them together, as
/// in repeated runs. Not modelled: thread start-up and TLB misses.
MatmulPlan with_predicted_time(MatmulPlan plan, const CoreRates& rates);

/// Seconds of one innermost step, per unit of depth: computing, and loading from L1.
double step_compute_s(const MatmulPlan& plan, const CoreRates& rates);
double step_load_s(const MatmulPlan& plan, const CoreRates& rates);

}  // namespace ridgeline::operations
