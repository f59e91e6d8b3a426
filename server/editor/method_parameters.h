// Parameters of the methods. Reading them throws InvalidValue, which says what is wrong with which member.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/prediction.h"
#include "editor/figures.h"
#include "editor/profiling_flow.h"
#include "protocol/experiment.h"
#include "protocol/json_rpc.h"
#include "protocol/lsp.h"

namespace ridgeline::editor {

/// A method about an open document.
struct DocumentParams {
  std::string uri;
};
struct RangeParams : DocumentParams {
  protocol::Range range;
};
struct HoverParams : DocumentParams {
  protocol::Position position;
};
struct CodeActionParams : RangeParams {
  protocol::CodeActionContext context;
};

/// A method about the profile with this id.
struct ProfileIdParams {
  std::string profile_id;
};
struct BreakdownParams : ProfileIdParams {
  std::string node;  ///< empty: the iteration
};
struct PredictParams : ProfileIdParams {
  protocol::Json question;  ///< read by question_in(), once it is known that the profile is there
};
struct LineCostsParams : ProfileIdParams {
  std::string uri;
  std::string node;  ///< empty: the whole iteration
};

struct SummaryParams {
  std::optional<std::string> profile_id;
  std::string uri;  ///< without an id
};
struct StatusParams {
  std::optional<std::string> uri;
};
/// Names a file that `ridgeline profile --job` wrote.
struct JobParams {
  std::string uri;
};
struct SetBatchSizeParams : DocumentParams {
  int batch_size = 0;
};
struct ProfileParams : DocumentParams {
  ProfileOptions options;
};
struct RunParams : DocumentParams {
  ScriptOptions options;
};
struct WhatIfParams : DocumentParams {
  std::vector<protocol::ChangeRequest> changes;  ///< those that most often pay, where the request names none
  bool search = false;                           ///< also for the best combination
  std::optional<std::uint64_t> memory_bytes;     ///< of a search: rows whose predicted peak is above are left out
  protocol::Json params;                         ///< of the request; they may hold a progress token
};
struct TryParams : DocumentParams {
  protocol::ChangeRequest change;
  protocol::Json params;  ///< of the request; they may hold a progress token
};
/// workspace/executeCommand. All of ours are about an entry file.
struct CommandParams : DocumentParams {
  std::string command;
  protocol::Json argument;  ///< the second; null: there is none
  protocol::Json options;   ///< the third; null: there is none
  protocol::Json work_done_token;
};

/// The parameters that lsp::Progress looks for its token in.
protocol::Json progress_params(const CommandParams& params);
/// The second argument as a list of texts; empty where there is none. Throws InvalidValue.
std::vector<std::string> texts_in(const CommandParams& params);
/// `datasetSize` of the third argument: samples. Throws InvalidValue.
std::optional<std::int64_t> dataset_size_in(const CommandParams& params);

void from_json(const protocol::Json& json, DocumentParams& params);
void from_json(const protocol::Json& json, RangeParams& params);
void from_json(const protocol::Json& json, HoverParams& params);
void from_json(const protocol::Json& json, CodeActionParams& params);
void from_json(const protocol::Json& json, ProfileIdParams& params);
void from_json(const protocol::Json& json, BreakdownParams& params);
void from_json(const protocol::Json& json, PredictParams& params);
void from_json(const protocol::Json& json, LineCostsParams& params);
void from_json(const protocol::Json& json, SummaryParams& params);
void from_json(const protocol::Json& json, StatusParams& params);
void from_json(const protocol::Json& json, JobParams& params);
void from_json(const protocol::Json& json, SetBatchSizeParams& params);
void from_json(const protocol::Json& json, ProfileParams& params);
void from_json(const protocol::Json& json, RunParams& params);
void from_json(const protocol::Json& json, WhatIfParams& params);
void from_json(const protocol::Json& json, TryParams& params);
void from_json(const protocol::Json& json, CommandParams& params);

/// batchSizes, code and timeBudget of a request for a profile.
ProfileOptions profile_options(const protocol::Json& json);

/// arguments, folder and environment of a request to run a script.
ScriptOptions script_options(const protocol::Json& json);

/// Exactly one of batchSize, samplesPerSecond, peakBytes, throughputShare, balance.
analysis::Question question_in(const protocol::Json& json);

/// The iteration where `id` is empty. Throws InvalidValue when the profile has no such node.
const analysis::Node& node_of(const Figures& figures, const std::string& id);

}  // namespace ridgeline::editor
