// What `ridgeline kernel` found, as text and as JSON (protocol/kernel.schema.json).
#pragma once

#include <string>

#include "operations/kernels/measured_kernel.h"
#include "operations/kernels/operation.h"

namespace ridgeline::report {

struct KernelAnswer {
  std::string device;
  int threads = 1;  ///< 0: of a GPU, which has none to choose
  operations::Operation operation;
  operations::Ranked<operations::Plan> construction;
  double construction_ms = 0;  ///< that it took
  operations::MeasuredKernels measured;
};

std::string kernel_text(const KernelAnswer& answer);
std::string kernel_json(const KernelAnswer& answer);

}  // namespace ridgeline::report
