#include "editor/profile_methods.h"

#include <memory>
#include <optional>
#include <utility>

#include "editor/answers_json.h"
#include "editor/batch_size_method.h"
#include "editor/config_edit.h"
#include "editor/costliest.h"
#include "editor/open_report.h"
#include "editor/status.h"
#include "protocol/json_fields.h"

namespace ridgeline::editor {

using protocol::Json;

namespace {

/// The summary of an entry with figures, once its text is parsed.
base::Task<lsp::Outcome> summary_of(const Context& context, const std::string& path) {
  const std::string uri = context.session().uri_of(path);
  const auto make = [&entries = context.entries, &what_if = context.what_if, path,
                     uri](const Snapshot* snapshot) -> lsp::Outcome {
    const auto entry = entries.find(path);
    return summary_json(*entry, uri,
                        snapshot == nullptr ? std::nullopt : batch_size_in_code(*snapshot->source, entry.get()),
                        what_if.applied(*entry));
  };
  return when_parsed(context.workspace, {uri}, make);
}

/// The summary of a profile that has ended, or why there is none.
base::Task<lsp::Outcome> outcome_of(Context context, ProfileEnd end) {
  if (end.has_error()) {
    co_return error_of_run(end.error());
  }
  auto answer = summary_of(context, (*end)->path);
  co_return co_await std::move(answer);
}

/// The second argument of a command as the parameters of a request.
Json request_of(const CommandParams& params) {
  Json json = params.argument.is_object() ? params.argument : Json::object();
  json.update(progress_params(params));
  return json;
}

}  // namespace

Json breakdown(const Context& context, const Entry& entry, const BreakdownParams& params) {
  return breakdown_json(*entry.figures, node_of(*entry.figures, params.node),
                        [&](const std::string& path) { return context.session().uri_of(path); });
}

Json costliest(const Context& context, const Entry& entry, const ProfileIdParams& /*params*/) {
  return costliest_json(entry, [&](const std::string& path) { return context.session().uri_of(path); });
}

Json predictions(const Context& /*context*/, const Entry& entry, const ProfileIdParams& /*params*/) {
  return predictions_json(*entry.figures);
}

base::Task<lsp::Outcome> line_costs(Context context, LineCostsParams params) {
  const FoundEntry entry = entry_with(context.entries, params.profile_id);
  if (!entry) {
    co_return entry.error();
  }
  const auto make = [figures = (*entry)->figures, node = params.node](const Snapshot* snapshot) -> lsp::Outcome {
    if (snapshot == nullptr) {
      throw protocol::InvalidValue("textDocument: it is not open");
    }
    if (snapshot->entry->figures != figures) {
      throw protocol::InvalidValue("profileId: another profile has taken its place");
    }
    return line_costs_json(*snapshot, node.empty() ? nullptr : &node_of(*figures, node));
  };
  auto costs = when_parsed(context.workspace, {params.uri, (*entry)->path}, make);
  co_return co_await std::move(costs);
}

base::Task<lsp::Outcome> predict(Context context, PredictParams params) {
  const FoundEntry entry = entry_with(context.entries, params.profile_id);
  if (!entry) {
    co_return entry.error();
  }
  const auto make = [figures = (*entry)->figures, question = question_in(params.question)](const Snapshot* snapshot) {
    return lsp::Outcome(prediction_json(*figures, question, snapshot));
  };
  const auto figures = (*entry)->figures;
  auto prediction = when_parsed(context.workspace, {context.session().uri_of((*entry)->path)}, make);
  lsp::Outcome made = co_await std::move(prediction);
  auto* answer = std::get_if<Json>(&made);
  if (answer == nullptr || (*answer)["batch"].is_null()) {
    co_return made;
  }
  const int batch_size = (*answer)["batch"]["batchSize"].get<int>();
  auto edited = with_config_edit(context, figures, batch_size, std::move(*answer));
  co_return co_await std::move(edited);
}

base::Task<lsp::Outcome> summary(Context context, SummaryParams params) {
  if (params.profile_id.has_value()) {
    const FoundEntry entry = entry_with(context.entries, *params.profile_id);
    if (!entry) {
      co_return entry.error();
    }
    auto of_profile = summary_of(context, (*entry)->path);
    co_return co_await std::move(of_profile);
  }
  const auto entry = context.entries.for_file(context.session().path_of(params.uri).value_or(""));
  if (entry == nullptr) {
    co_return Json();
  }
  auto of_document = summary_of(context, entry->path);
  co_return co_await std::move(of_document);
}

base::Task<lsp::Outcome> profile(Context context, ProfileParams params) {
  auto profiled = context.flow.profile(context.workspace, params.uri, std::move(params.options), context.cancel);
  const ProfileEnd end = co_await std::move(profiled);
  auto answer = outcome_of(context, end);
  co_return co_await std::move(answer);
}

base::Task<lsp::Outcome> run_script(Context context, RunParams params) {
  auto profiled = context.flow.run_script(context.workspace, params.uri, std::move(params.options), context.cancel);
  const ProfileEnd end = co_await std::move(profiled);
  auto answer = outcome_of(context, end);
  co_return co_await std::move(answer);
}

base::Task<lsp::Outcome> status(Context context, StatusParams params) {
  const auto path = params.uri.has_value() ? context.session().path_of(*params.uri) : std::nullopt;
  Json status = status_json(context.session(), context.entries);
  if (path.has_value()) {
    auto target = target_json(context.workspace, context.entries, *path);
    status["target"] = co_await std::move(target);
  }
  co_return status;
}

base::Task<lsp::Outcome> profile_command(Context context, CommandParams params) {
  return profile(std::move(context), {{params.uri}, profile_options(request_of(params))});
}

base::Task<lsp::Outcome> run_command(Context context, CommandParams params) {
  return run_script(std::move(context), {{params.uri}, script_options(request_of(params))});
}

base::Task<lsp::Outcome> cancel_command(Context context, CommandParams params) {
  context.entries.cancel(context.session().path_of(params.uri).value_or(""));
  co_return Json();
}

base::Task<lsp::Outcome> open_report_command(Context context, CommandParams params) {
  return open_report(context.workspace, context.entries, params.uri);
}

}  // namespace ridgeline::editor
