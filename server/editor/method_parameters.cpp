#include "editor/method_parameters.h"

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "analysis/prediction/predictor.h"
#include "editor/settings.h"
#include "protocol/json_fields.h"
#include "step/changes/change_table.h"

namespace ridgeline::editor {

using analysis::Quantity;
using protocol::Json;
using protocol::member;
using protocol::optional_member;

namespace {

/// Changes that are made together.
constexpr std::size_t kMostCombined = 16;
/// Bytes of one change, which may name a module.
constexpr std::size_t kMostChangeBytes = 1024;

std::string document_in(const Json& json) { return member<protocol::TextDocumentIdentifier>(json, "textDocument").uri; }

/// Throws where it is none that can be asked about.
protocol::ChangeRequest change_in(const std::vector<std::string>& texts, const char* member_name) {
  if (texts.empty() || texts.size() > kMostCombined) {
    throw protocol::InvalidValue(std::string(member_name) + ": a change is a list of 1 to 16 texts");
  }
  for (const std::string& text : texts) {
    if (text.size() > kMostChangeBytes) {
      throw protocol::InvalidValue(std::string(member_name) + ": a change has at most 1024 bytes");
    }
    if (const auto kind = step::find_change_of(step::Subject::kStep, text); !kind) {
      throw protocol::InvalidValue(std::string(member_name) + ": " + kind.error().message());
    }
  }
  return texts;
}

}  // namespace

void from_json(const Json& json, DocumentParams& params) { params.uri = document_in(json); }

void from_json(const Json& json, RangeParams& params) {
  params.uri = document_in(json);
  params.range = member<protocol::Range>(json, "range");
}

void from_json(const Json& json, HoverParams& params) {
  params.uri = document_in(json);
  params.position = member<protocol::Position>(json, "position");
}

void from_json(const Json& json, CodeActionParams& params) {
  from_json(json, static_cast<RangeParams&>(params));
  params.context = member<protocol::CodeActionContext>(json, "context");
}

void from_json(const Json& json, ProfileIdParams& params) {
  params.profile_id = member<std::string>(json, "profileId");
}

void from_json(const Json& json, BreakdownParams& params) {
  from_json(json, static_cast<ProfileIdParams&>(params));
  params.node = optional_member<std::string>(json, "node").value_or("");
}

void from_json(const Json& json, PredictParams& params) {
  from_json(json, static_cast<ProfileIdParams&>(params));
  params.question = json;
}

void from_json(const Json& json, LineCostsParams& params) {
  from_json(json, static_cast<ProfileIdParams&>(params));
  params.uri = document_in(json);
  params.node = optional_member<std::string>(json, "node").value_or("");
}

void from_json(const Json& json, SummaryParams& params) {
  params.profile_id = optional_member<std::string>(json, "profileId");
  params.uri = params.profile_id.has_value() ? "" : document_in(json);
}

void from_json(const Json& json, StatusParams& params) {
  const auto document = optional_member<protocol::TextDocumentIdentifier>(json, "textDocument");
  params.uri = document.has_value() ? std::optional(document->uri) : std::nullopt;
}

void from_json(const Json& json, JobParams& params) { params.uri = member<std::string>(json, "uri"); }

void from_json(const Json& json, SetBatchSizeParams& params) {
  params.uri = document_in(json);
  params.batch_size = member<int>(json, "batchSize");
}

void from_json(const Json& json, ProfileParams& params) {
  params.uri = document_in(json);
  params.options = profile_options(json);
}

void from_json(const Json& json, RunParams& params) {
  params.uri = document_in(json);
  params.options = script_options(json);
}

void from_json(const Json& json, WhatIfParams& params) {
  params.uri = document_in(json);
  const auto changes = optional_member<std::vector<std::vector<std::string>>>(json, "changes");
  for (const std::vector<std::string>& change : changes.value_or(step::usual_changes())) {
    params.changes.push_back(change_in(change, "changes"));
  }
  if (params.changes.empty() || params.changes.size() > protocol::kMaxChanges) {
    throw protocol::InvalidValue("changes: must be a list of 1 to " + std::to_string(protocol::kMaxChanges));
  }
  params.search = optional_member<bool>(json, "search").value_or(false);
  params.memory_bytes = optional_member<std::uint64_t>(json, "memoryBytes");
  if (params.memory_bytes.has_value() && (*params.memory_bytes == 0 || !params.search)) {
    throw protocol::InvalidValue("memoryBytes: must be more than 0, and needs search");
  }
  params.params = json;
}

void from_json(const Json& json, TryParams& params) {
  params.uri = document_in(json);
  params.change = change_in(member<std::vector<std::string>>(json, "change"), "change");
  params.params = json;
}

void from_json(const Json& json, CommandParams& params) {
  params.command = member<std::string>(json, "command");
  const auto arguments = optional_member<std::vector<Json>>(json, "arguments").value_or(std::vector<Json>{});
  if (arguments.empty() || !arguments[0].is_string()) {
    throw protocol::InvalidValue("arguments: the first must be the URI of an entry file");
  }
  params.uri = arguments[0].get<std::string>();
  params.argument = arguments.size() > 1 ? arguments[1] : Json();
  params.options = arguments.size() > 2 ? arguments[2] : Json();
  params.work_done_token = json.value("workDoneToken", Json());
}

Json progress_params(const CommandParams& params) {
  Json json = Json::object();
  if (!params.work_done_token.is_null()) {
    json["workDoneToken"] = params.work_done_token;
  }
  return json;
}

std::vector<std::string> texts_in(const CommandParams& params) {
  return params.argument.is_null() ? std::vector<std::string>()
                                   : protocol::value_as<std::vector<std::string>>(params.argument);
}

std::optional<std::int64_t> dataset_size_in(const CommandParams& params) {
  if (params.options.is_null()) {
    return std::nullopt;
  }
  if (!params.options.is_object()) {
    throw protocol::InvalidValue("arguments: the third must be an object");
  }
  const auto size = optional_member<std::int64_t>(params.options, "datasetSize");
  if (size.has_value() && *size <= 0) {
    throw protocol::InvalidValue("datasetSize: must be more than 0");
  }
  return size;
}

analysis::Question question_in(const Json& json) {
  static constexpr std::array<std::pair<const char*, Quantity>, 5> kQuantities = {
      {{"batchSize", Quantity::kBatchSize},
       {"samplesPerSecond", Quantity::kThroughput},
       {"peakBytes", Quantity::kMemory},
       {"throughputShare", Quantity::kThroughputShare},
       {"balance", Quantity::kBalance}}};
  std::optional<analysis::Question> question;
  for (const auto& [name, quantity] : kQuantities) {
    const auto value = optional_member<double>(json, name);
    if (!value.has_value()) {
      continue;
    }
    const bool whole = quantity != Quantity::kBatchSize ||
                       (*value == std::floor(*value) && *value <= static_cast<double>(analysis::kMaxBatchSize));
    const bool small = quantity != Quantity::kThroughputShare || *value <= 1;
    if (!std::isfinite(*value) || *value <= 0 || !whole || !small) {
      throw protocol::InvalidValue(std::string(name) + ": is out of its range");
    }
    if (question.has_value()) {
      throw protocol::InvalidValue(std::string(name) + ": only one question can be asked at a time");
    }
    question = analysis::Question{quantity, *value};
  }
  if (!question.has_value()) {
    throw protocol::InvalidValue("batchSize, samplesPerSecond, peakBytes, throughputShare or balance is missing");
  }
  return *question;
}

ProfileOptions profile_options(const Json& json) {
  ProfileOptions options;
  if (const auto sizes = optional_member<Json>(json, "batchSizes")) {
    options.batch_sizes = batch_sizes_in(*sizes);
    if (!options.batch_sizes.has_value()) {
      throw protocol::InvalidValue("batchSizes: at most 16, from 1 to " + std::to_string(analysis::kMaxBatchSize));
    }
  }
  if (const auto code = optional_member<Json>(json, "code")) {
    options.code = code_in(*code);
    if (!options.code.has_value()) {
      throw protocol::InvalidValue("code: must be a list of packages as they are imported");
    }
  }
  options.time_budget_seconds = optional_member<double>(json, "timeBudget");
  if (options.time_budget_seconds.has_value() &&
      !(*options.time_budget_seconds > 0 && *options.time_budget_seconds < 1e6)) {
    throw protocol::InvalidValue("timeBudget: must be a number of seconds above 0");
  }
  options.params = json;
  return options;
}

ScriptOptions script_options(const Json& json) {
  ScriptOptions options;
  if (const auto arguments = optional_member<Json>(json, "arguments")) {
    options.arguments = texts_in(*arguments);
    if (!options.arguments.has_value()) {
      throw protocol::InvalidValue("arguments: must be a list of at most 1024 texts");
    }
  }
  options.folder = optional_member<std::string>(json, "folder").value_or("");
  const Json variables = optional_member<Json>(json, "environment").value_or(Json::object());
  std::vector<std::string> all;
  for (const auto& [name, value] : variables.items()) {
    if (!value.is_string() || name.empty() || name.find('=') != std::string::npos) {
      throw protocol::InvalidValue("environment: must be an object of texts, by the names of variables");
    }
    all.push_back(name + "=" + value.get<std::string>());
  }
  const auto checked = texts_in(Json(all));
  if (!variables.is_object() || !checked.has_value() || options.folder.find('\0') != std::string::npos) {
    throw protocol::InvalidValue("environment: must be an object of at most 1024 texts, by the names of variables");
  }
  options.variables = *checked;
  options.params = json;
  return options;
}

const analysis::Node& node_of(const Figures& figures, const std::string& id) {
  const analysis::Node* node = figures.node(id);
  if (node == nullptr) {
    throw protocol::InvalidValue("node: the profile has no node " + id.substr(0, 60));
  }
  return *node;
}

}  // namespace ridgeline::editor
