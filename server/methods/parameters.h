// Parameters of ridgeline/* that several methods read.
#pragma once

#include "analysis/prediction.h"
#include "methods/figures.h"
#include "protocol/json_rpc.h"

namespace ridgeline::methods {

/// `node`, or the iteration when it is left out. Throws InvalidValue when the profile has no such node.
const analysis::Node& node_in(const Figures& figures, const protocol::Json& params);

/// Exactly one of batchSize, samplesPerSecond, bytes, throughputShare, balance. Throws InvalidValue.
analysis::Question question_in(const protocol::Json& params);

}  // namespace ridgeline::methods
