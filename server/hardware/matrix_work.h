// Products of matrices: of the table in operation_work.cpp.
#pragma once

#include <optional>
#include <string_view>

#include "hardware/operation_call.h"
#include "hardware/operation_work.h"

namespace ridgeline::hardware {

/// Whether an operator, without "aten::" and the underscore of an in-place variant, is one of these.
bool is_matrix_operator(std::string_view operation);

/// Nothing where the arguments are not those of the operator.
std::optional<OperationWork> matrix_work(std::string_view operation, const OperationCall& call);

}  // namespace ridgeline::hardware
