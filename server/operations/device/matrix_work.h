// Products of matrices: of the table in operation_work.cpp.
#pragma once

#include <optional>
#include <string_view>

#include "operations/device/operation_call.h"
#include "operations/device/operation_work.h"

namespace ridgeline::operations {

/// Whether an operator, without "aten::" and the underscore of an in-place variant, is one of these.
bool is_matrix_operator(std::string_view operation);

/// Nothing where the arguments are not those of the operator.
std::optional<OperationWork> matrix_work(std::string_view operation, const OperationCall& call);

/// The share of the FLOPs that no algorithm goes below. Of convolutions: one product for each output and input channel,
/// and for each phase of a stride; Winograd's and those by Fourier transforms need more, and less than direct ones. 1
/// for others.
double least_share_of_flops(const OperationCall& call);

}  // namespace ridgeline::operations
