// The predicted time of a program: of each stage of its pipeline, the slowest counts.
#pragma once

#include "operations/kernels/core_rates.h"
#include "operations/kernels/matmul_plan.h"

namespace ridgeline::operations {

/// Fills in `ns` and `slowest`. The matrices are where they fit when the program begins: repeated runs are predicted.
/// Not modelled: the start of threads, misses of the TLB.
MatmulPlan with_predicted_time(MatmulPlan plan, const CoreRates& rates);

/// Seconds of one innermost step, per unit of depth: computing, and loading from L1.
double step_compute_s(const MatmulPlan& plan, const CoreRates& rates);
double step_load_s(const MatmulPlan& plan, const CoreRates& rates);

}  // namespace ridgeline::operations
