// Programs for the operations of a profile's step.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/values/profile.h"
#include "app/profiling/use_case_failure.h"
#include "base/function_ref.h"
#include "operations/device/device.h"
#include "report/rendered_step_kernels.h"

namespace ridgeline::app {

struct StepKernelsRequest {
  std::string profile;  ///< a report in JSON, or the id of a kept profile
  std::string python;   ///< as the user names it; empty: found
  std::size_t top = 10;
  double seconds = 0.5;
  operations::Device device;
  std::string cache;
};

struct StepKernels {
  analysis::Profile profile;
  std::vector<report::StepKernel> kernels;
  /// Those that are faster than torch's operations, as modules of PyTorch: the name of a file, and its text.
  std::map<std::string, std::string> modules;
  std::string warning;  ///< why nothing is kept for the next reports; mostly empty
};

/// For each operation that takes a considerable part of the step: constructs programs, compiles, checks and times the
/// best, and then the fastest as an operator of PyTorch beside torch's operation. Waits for each; `announce` is called
/// before. What was measured is kept for the next reports.
Answer<StepKernels> measure_step_kernels(const StepKernelsRequest& request,
                                         base::FunctionRef<void(const std::string&)> announce);

/// The file's name of the operator that is used in place of the operation.
std::string module_file(const operations::ProgramCandidate& candidate);

}  // namespace ridgeline::app
