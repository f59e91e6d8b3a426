// Code that torch.compile generated, on the lines of the user's code that it came from.
#pragma once

#include <optional>

#include "analysis/attribution/source_scope.h"
#include "analysis/values/compilation.h"
#include "base/result.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// A recording whose operations, device calls, allocations and samples in generated code are where their work came
/// from: below the line that called the compiled code, the user's frames and modules that the compiler traced. What
/// several lines share, such as a fused kernel, is divided into consecutive parts by the shares of the recording's
/// compiled code; the name of a part ends in " (divided)". An allocation, a sample and an operation with others inside
/// belong to the largest share. Times do not change, and parts sum to the whole. Of a recording that is placed already,
/// or has no generated code, the recording itself. An error when what the recording says of compiled code is damaged.
base::Result<recording::Recording> place_compiled_code(const recording::Recording& recording);

/// What torch.compile did before the recording; nothing where it did nothing, and where that is damaged.
std::optional<Compilation> compilation_of(const recording::Recording& recording, const SourceScope& scope);

}  // namespace ridgeline::analysis
