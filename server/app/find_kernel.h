// Programs for one operation: constructed for a device, and timed beside torch.
#pragma once

#include <cstddef>
#include <string>

#include "app/profiling/use_case_failure.h"
#include "base/function_ref.h"
#include "operations/device/device.h"
#include "operations/kernels/operation.h"
#include "report/rendered_kernel.h"

namespace ridgeline::app {

/// The processor as it was measured here; where `name` is given, what a file of that name describes, or a GPU by its
/// name.
base::Result<operations::Device> kernel_device(const std::string& name, const std::string& cache);

struct KernelRequest {
  operations::Operation operation;
  operations::Device device;
  std::string python;  ///< as the user names it; empty: found
  int threads = 1;
  std::size_t top = 10;
  double seconds = 0.5;
  std::string cache;
};

/// Constructs programs, and compiles, checks and times the best. Those for a GPU that cannot be run here are predicted.
/// Waits for them; `announce` is called before.
Answer<report::KernelAnswer> find_kernel(const KernelRequest& request,
                                         base::FunctionRef<void(const std::string&)> announce);

/// The fastest program of the answer, or where none was run the best predicted one: its source, and where
/// `as_operator`, a module of PyTorch.
base::Result<std::string> best_source(const KernelRequest& request, const report::KernelAnswer& answer,
                                      bool as_operator);

}  // namespace ridgeline::app
