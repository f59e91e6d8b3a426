// Operations of a recorded step that programs can be constructed for.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "operations/device/operation_call.h"
#include "operations/kernels/operation.h"

namespace ridgeline::operations {

/// A call of torch's as an operation of ours.
struct StepOperation {
  Operation operation;
  std::vector<std::size_t> operands;  ///< of the emitted operator, in its order: positions of the call's arguments
};

/// Nothing where no program computes the same. There are programs for float32 on the CPU: mm, addmm, bmm, convolutions
/// with square kernels and without groups, functions of contiguous tensors of one shape, and sums, means and maxima of
/// contiguous ones along their first or their last dimensions. Operands of products may have any strides: an emitted
/// operator copies what is not contiguous. A right matrix that is stored column by column is that of "linear", whose
/// operator takes it transposed. Pure.
std::optional<StepOperation> step_operation(const OperationCall& call);

}  // namespace ridgeline::operations
