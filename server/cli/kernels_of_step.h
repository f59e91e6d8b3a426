// `ridgeline kernel --of`: programs for the operations of a profile's step.
#pragma once

#include <cstddef>
#include <string>

#include "cli/options.h"
#include "operations/device/device.h"

namespace ridgeline::cli {

struct StepKernelsRequest {
  std::string profile;      ///< a report in JSON, or the id of a kept profile
  std::string python;       ///< as the user names it; empty: found
  std::string emit_folder;  ///< for the operators that are faster; empty: none are written
  std::size_t top = 10;
  double seconds = 0.5;
  const operations::Device& device;
  std::string cache;
};

/// For each operation that takes a considerable part of the step: constructs programs, compiles, checks and times the
/// best, and then the fastest as an operator of PyTorch beside torch's operation.
/// The exit code.
int show_step_kernels(const StepKernelsRequest& request, const Output& output);

}  // namespace ridgeline::cli
