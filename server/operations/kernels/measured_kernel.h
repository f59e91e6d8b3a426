// What timing constructed programs beside torch brought: read from what the runner writes. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "operations/kernels/operation.h"

namespace ridgeline::operations {

struct MeasuredKernel {
  double ns = 0;              ///< 0: there is a problem
  std::string problem;        ///< why it was not measured
  double relative_error = 0;  ///< of its result: the norm of the difference from torch's in float64, over that one's
};

struct MeasuredKernels {
  std::string torch;      ///< its version
  double library_ns = 0;  ///< of torch, for the same operation; 0: nothing was run
  std::vector<MeasuredKernel> kernels;
  std::string gpu{};  ///< as its driver names it; empty: a processor
};

/// What the runner's kernels.py reads: an object with a `kind`, "matmul", "conv", "elementwise" or "reduce", and its
/// sizes.
std::string runner_operation(const Operation& operation);

/// Parses what the runner's kernels.py wrote about `count` kernels; an error says why they were not run, or what is
/// wrong with the line.
base::Result<MeasuredKernels> parse_measured_kernels(const std::string& line, std::size_t count);

/// An emitted operator in turns with torch's operation.
struct MeasuredOperator {
  std::string torch;      ///< its version
  double library_ns = 0;  ///< medians
  double own_ns = 0;
  double ratio = 0;  ///< of the operator's time over torch's: the median over the turns; then its interval of 95 %
  double low = 0;
  double high = 0;
};

/// What the runner's emitted_operator.py wrote; an error says why there is no time, or what is wrong with the line.
base::Result<MeasuredOperator> parse_measured_operator(const std::string& line);

/// The kernel that was measured to be the fastest; null where none was.
const MeasuredKernel* fastest(const MeasuredKernels& measured);

}  // namespace ridgeline::operations
