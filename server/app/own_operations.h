// This user's table of operation times.
#pragma once

#include "base/result.h"
#include "operations/table/operation_table.h"

namespace ridgeline::app {

base::Result<operations::OperationTable> own_operation_table();

}  // namespace ridgeline::app
