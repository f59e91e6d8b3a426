// Generated programs, compiled, checked and timed beside torch in another process.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/kernels/measured_kernel.h"
#include "operations/kernels/operation.h"
#include "operations/kernels/step_operation.h"

namespace ridgeline::app {

struct KernelConditions {
  std::string python;    ///< with torch
  std::string compiler;  ///< of C++; empty: the programs are for the GPU that torch uses there, with its NVRTC
  std::string sources;   ///< the unpacked runner
  std::string cache;
  int threads = 1;
  double seconds = 0.5;  ///< for timing each program
};

/// Finds what runs need; an error says what is missing. `python`: as the user names it.
base::Result<KernelConditions> kernel_conditions(const std::string& python, const std::string& cache, int threads,
                                                 double seconds);

/// The same for programs for `gpu`, which torch's own compiler compiles. An error where this machine has none, as the
/// driver says: then no interpreter is started.
base::Result<KernelConditions> gpu_conditions(const operations::Device& gpu, const std::string& python,
                                              const std::string& cache, double seconds);

/// Compiles, checks and times the programs.
base::Result<operations::MeasuredKernels> measure_kernels(const KernelConditions& conditions,
                                                          const operations::Operation& operation,
                                                          const std::vector<operations::Plan>& plans);

/// Loads an emitted operator and times it in turns with torch's operation, both with the shapes and strides of `key`:
/// the operator with the calls that PyTorch makes for it, its result and copies of operands that are not contiguous.
base::Result<operations::MeasuredOperator> measure_operator(const KernelConditions& conditions,
                                                            const std::string& module,
                                                            const operations::StepOperation& call,
                                                            const std::string& key);

}  // namespace ridgeline::app
