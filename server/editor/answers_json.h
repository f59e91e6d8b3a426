// The results of ridgeline/*: docs/dev/protocol.md and protocol/ridgeline.schema.json describe them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/values/prediction.h"
#include "editor/applied_change.h"
#include "editor/entries.h"
#include "editor/snapshot.h"
#include "protocol/json_rpc.h"

namespace ridgeline::editor {

/// ridgeline/summary: key metrics, models and what was measured. `uri`: the entry file as the client names it;
/// `in_code`: the batch size in the client's text of it, where that is open and the batch size is a literal; `applied`:
/// the change that the profile before was of.
protocol::Json summary_json(const Entry& entry, const std::string& uri, std::optional<int> in_code,
                            const std::optional<AppliedChange>& applied);

/// A place in a file that ran, with its line counted from 0; null for no place.
protocol::Json place_json(const Figures& figures, const analysis::Location& location, const UriOf& uri_of);

/// ridgeline/breakdown: a node and its children.
protocol::Json breakdown_json(const Figures& figures, const analysis::Node& node, const UriOf& uri_of);

/// ridgeline/lineCosts: every line of the document that has figures, or what its lines cost inside of `node`, when it
/// is not null. Lines count from 0, as they are in the document now.
protocol::Json line_costs_json(const Snapshot& snapshot, const analysis::Node* node);

/// ridgeline/predict. `snapshot`: the entry file, which the edit is of; null when it is not open.
protocol::Json prediction_json(const Figures& figures, const analysis::Question& question, const Snapshot* snapshot);

/// ridgeline/predictions: the batches that bars may be moved to.
protocol::Json predictions_json(const Figures& figures);

/// ridgeline/profileChanged, without its URI.
protocol::Json changed_json(const Entry& entry);

/// A failure as the data of a response error.
protocol::Json failure_json(const app::RunFailure& failure);

}  // namespace ridgeline::editor
