// The results of ridgeline/*: docs/protocol.md and protocol/ridgeline.schema.json describe them.
#pragma once

#include <string>
#include <string_view>

#include "analysis/prediction.h"
#include "methods/entries.h"
#include "methods/snapshot.h"
#include "protocol/json_rpc.h"

namespace ridgeline::methods {

/// ridgeline/summary: key metrics, models and what was measured.
protocol::Json summary_json(const Entry& entry);

/// ridgeline/breakdown: a node and its children. `uri_of` names a file as the client does.
protocol::Json breakdown_json(const Figures& figures, const analysis::Node& node,
                              const std::function<std::string(const std::string& path)>& uri_of);

/// ridgeline/lineCosts: every line of the document that has figures, or what its lines cost inside of `node`, when it
/// is not null. Lines count from 0, as they are in the document now.
protocol::Json line_costs_json(const Snapshot& snapshot, const analysis::Node* node);

/// ridgeline/predict.
protocol::Json prediction_json(const Figures& figures, const analysis::Question& question);

/// ridgeline/profileChanged, without its URI.
protocol::Json changed_json(const Entry& entry);

/// What went wrong, as the data of an error.
protocol::Json failure_json(const profiling::RunFailure& failure);

}  // namespace ridgeline::methods
