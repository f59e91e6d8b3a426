// Options of `ridgeline profile` that are more than a word or a number.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/worker_messages.h"

namespace ridgeline::cli {

/// "optimizer", "dataloader", or a line as FILE:LINE; empty: it is found. The file must be there and have the line.
base::Result<protocol::BoundaryRequest> parse_step_boundary(const std::string& text);

/// "8,16,64"; none for "auto" and for an empty text.
base::Result<std::vector<int>> parse_batch_sizes(const std::string& text);

}  // namespace ridgeline::cli
