#include "editor/editor_methods.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "app/profiling/entry_name.h"
#include "app/profiling/step_on_devices.h"
#include "editor/answers_json.h"
#include "editor/batch_size_method.h"
#include "editor/code_action.h"
#include "editor/code_lens.h"
#include "editor/costliest.h"
#include "editor/hover.h"
#include "editor/inlay_hint.h"
#include "editor/job_methods.h"
#include "editor/method_parameters.h"
#include "editor/open_report.h"
#include "editor/setting_names.h"
#include "editor/status.h"
#include "editor/what_if_json.h"
#include "lsp/session/progress.h"
#include "protocol/json_fields.h"
#include "report/rendered_devices.h"
#include "report/rendered_job.h"
#include "source/entry_point_text.h"

namespace ridgeline::editor {

namespace {

using protocol::Json;
using protocol::ResponseError;
namespace code = protocol::error_code;

/// Answers with the task's result or exception.
base::Task<void> respond_with(lsp::Reply reply, base::Task<lsp::Outcome> task) {
  std::exception_ptr thrown;
  try {
    lsp::Outcome outcome = co_await std::move(task);
    reply.answer(std::move(outcome));
  } catch (const base::OwnerGone&) {
    throw;  // nobody waits for an answer
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown != nullptr) {
    reply.answer(lsp::error_of(thrown));
  }
}

/// What `make` returns of the document of `question`, called once that has been parsed; null: it is not open.
base::Task<lsp::Outcome> when_parsed(Workspace& workspace, Workspace::Question question,
                                     std::function<lsp::Outcome(const Snapshot*)> make) {
  const auto begin = [&](std::function<void(lsp::Outcome)> done) {
    const auto answer = [done, make = std::move(make)](const Snapshot* snapshot) {
      lsp::Outcome made = Json();
      try {
        made = make(snapshot);
      } catch (...) {
        made = lsp::error_of(std::current_exception());
      }
      done(std::move(made));
    };
    const auto give_up = [done] {
      done(ResponseError{
          code::kContentModified, "The text kept changing before it could be parsed.", {{"reason", "changing"}}});
    };
    workspace.when_ready(std::move(question), answer, give_up);
  };
  auto outcome = base::callback<lsp::Outcome>(begin);
  co_return co_await std::move(outcome);
}

/// The profile that a method is about, by its id.
using FoundEntry = base::Result<std::shared_ptr<const Entry>, ResponseError>;
FoundEntry entry_with(const Entries& entries, const std::string& profile_id) {
  auto entry = entries.by_profile(profile_id);
  if (entry == nullptr) {
    return ResponseError{
        code::kContentModified, "There is no profile " + profile_id.substr(0, 40) + " any more.", {{"reason", "gone"}}};
  }
  return entry;
}

// ---- about an open document

std::optional<protocol::Hover> hover_of(const Context& context, const Snapshot& snapshot, const HoverParams& params) {
  return hover(snapshot, params, [&](const std::string& path) { return context.session().uri_of(path); });
}

std::vector<protocol::CodeAction> actions_of(const Context& context, const Snapshot& snapshot,
                                             const CodeActionParams& params) {
  return code_actions(snapshot, params, context.what_if.written(snapshot.document.path()));
}

protocol::DocumentDiagnosticReport document_diagnostics(const Context& context, const Snapshot& snapshot,
                                                        const DocumentParams& /*params*/) {
  protocol::DocumentDiagnosticReport report;
  report.items = context.workspace.diagnostics_of(snapshot);
  return report;
}

// ---- about a profile

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

// ---- that wait

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
  auto prediction = when_parsed(context.workspace, {context.session().uri_of((*entry)->path)}, make);
  co_return co_await std::move(prediction);
}

/// The summary of an entry with figures, once its text is parsed.
base::Task<lsp::Outcome> summary_of(const Context& context, const std::string& path) {
  const std::string uri = context.session().uri_of(path);
  const auto make = [&entries = context.entries, &what_if = context.what_if, path,
                     uri](const Snapshot* snapshot) -> lsp::Outcome {
    const auto* entry_point =
        snapshot != nullptr && snapshot->source->entry_point.has_value() ? &*snapshot->source->entry_point : nullptr;
    const auto entry = entries.find(path);
    return summary_json(*entry, uri, entry_point == nullptr ? std::nullopt : batch_size_in_code(*entry_point),
                        what_if.applied(*entry));
  };
  return when_parsed(context.workspace, {uri}, make);
}

/// The summary of a document, or of a profile: a client learns the profile's id by its document.
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

ResponseError error_of_run(const app::RunFailure& failure) {
  app::RunFailure shown = failure;
  shown.message = with_setting_names(std::move(shown.message));
  return {protocol::info_of(shown.kind).lsp_code, shown.message, failure_json(shown)};
}

/// The summary of a profile that has ended, or why there is none.
base::Task<lsp::Outcome> outcome_of(Context context, ProfileEnd end) {
  if (end.has_error()) {
    co_return error_of_run(end.error());
  }
  auto answer = summary_of(context, (*end)->path);
  co_return co_await std::move(answer);
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

base::Task<lsp::Outcome> what_if(Context context, WhatIfParams params) {
  WhatIfFlow::ShowPart show;
  if (auto send = lsp::partial_results(context.session(), params.params)) {
    show = [send = std::move(send)](const analysis::WhatIf& part) {
      send({{"changes", what_if_json(part, "")["changes"]}});
    };
  }
  auto asking = context.what_if.ask(context.workspace, params.uri, std::move(params.changes), std::move(params.params),
                                    std::move(show), context.cancel);
  const WhatIfEnd end = co_await std::move(asking);
  if (!end) {
    co_return error_of_run(end.error());
  }
  co_return what_if_json(*end, context.session().uri_of(end->entry_path));
}

base::Task<lsp::Outcome> try_change(Context context, TryParams params) {
  auto trying = context.what_if.attempt(context.workspace, params.uri, std::move(params.change),
                                        std::move(params.params), context.cancel);
  const WhatIfEnd end = co_await std::move(trying);
  if (!end) {
    co_return error_of_run(end.error());
  }
  co_return tried_json(*end);
}

/// A change as an edit of the entry file. Nothing is written.
base::Task<lsp::Outcome> change_edit(Context context, TryParams params) {
  const auto entry = context.entries.for_file(context.session().path_of(params.uri).value_or(""));
  if (entry == nullptr) {
    co_return ResponseError{code::kRequestFailed, "There is no profile of this file.", {}};
  }
  const auto make = [change = params.change,
                     device = entry->figures->profile().environment.device](const Snapshot* snapshot) -> lsp::Outcome {
    if (snapshot == nullptr) {
      return Json{{"edit", nullptr}, {"noEditReason", "The entry file is not open: open it to edit it."}};
    }
    return change_edit_json(*snapshot, change, device);
  };
  auto made = when_parsed(context.workspace, {context.session().uri_of(entry->path)}, make);
  co_return co_await std::move(made);
}

/// What `ridgeline init` writes for a script, as its text is in the editor. Nothing is written.
base::Task<lsp::Outcome> entry_point(Context context, DocumentParams params) {
  const SourceView* const view = context.workspace.view(params.uri);
  if (view == nullptr) {
    throw protocol::InvalidValue("textDocument: it is not an open Python file");
  }
  const std::filesystem::path script = view->document().path();
  const auto make = [script, text = view->document().bytes()]() mutable {
    return std::pair(source::entry_point_text(std::move(text), script.filename().string(), true),
                     app::free_entry_name(script.parent_path()));
  };
  auto making = context.workspace.while_open(context.entries.read_files(make));
  const auto [made, file_name] = co_await std::move(making);
  if (!made) {
    co_return ResponseError{code::kRequestFailed, script.filename().string() + ": " + made.error().message(), {}};
  }
  co_return Json{{"text", made->text}, {"fileName", file_name}, {"unknown", made->unknown}};
}

/// The path of the file of a job. Throws InvalidValue where it is none of this machine.
std::string job_path(const Context& context, const std::string& uri) {
  auto path = context.session().path_of(uri);
  if (!path.has_value()) {
    throw protocol::InvalidValue("uri: it is no file of this machine");
  }
  return std::move(*path);
}

/// What a recorded job shows. Nothing of it runs. The line that makes a rank slow has a diagnostic from then on.
base::Task<base::Result<ShownJob>> show_job(Context context, std::string path) {
  auto reading = context.workspace.while_open(context.entries.compute([path] { return shown_job(path); }));
  base::Result<ShownJob> shown = co_await std::move(reading);
  if (shown) {
    context.workspace.show_slow_line(path, shown->slow_line);
  }
  co_return shown;
}

base::Task<lsp::Outcome> job(Context context, JobParams params) {
  auto showing = show_job(context, job_path(context, params.uri));
  const base::Result<ShownJob> shown = co_await std::move(showing);
  if (!shown) {
    co_return ResponseError{code::kRequestFailed, shown.error().message(), {}};
  }
  co_return job_json(*shown, [&](const std::string& file) { return context.session().uri_of(file); });
}

base::Task<lsp::Outcome> set_batch_size(Context context, SetBatchSizeParams params) {
  return context.writer.write(params.uri, params.batch_size);
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

// ---- commands

base::Task<lsp::Outcome> profile_command(Context context, CommandParams params) {
  Json json = params.argument.is_object() ? params.argument : Json::object();
  if (!params.work_done_token.is_null()) {
    json["workDoneToken"] = params.work_done_token;
  }
  return profile(std::move(context), {{params.uri}, profile_options(json)});
}

base::Task<lsp::Outcome> run_command(Context context, CommandParams params) {
  Json json = params.argument.is_object() ? params.argument : Json::object();
  if (!params.work_done_token.is_null()) {
    json["workDoneToken"] = params.work_done_token;
  }
  return run_script(std::move(context), {{params.uri}, script_options(json)});
}

base::Task<lsp::Outcome> cancel_command(Context context, CommandParams params) {
  context.entries.cancel(context.session().path_of(params.uri).value_or(""));
  co_return Json();
}

base::Task<lsp::Outcome> set_batch_size_command(Context context, CommandParams params) {
  return context.writer.write(params.uri, protocol::value_as<int>(params.argument));
}

/// The text of `ridgeline job show`.
base::Task<lsp::Outcome> open_job_command(Context context, CommandParams params) {
  const std::string path = job_path(context, params.uri);
  auto showing = show_job(context, path);
  base::Result<ShownJob> shown = co_await std::move(showing);
  if (!shown) {
    co_return ResponseError{code::kRequestFailed, shown.error().message(), {}};
  }
  auto opening =
      open_text(context.workspace, context.entries, std::filesystem::path(path).stem().string() + "-job.txt",
                [report = std::move(shown->report)] {
                  return base::Result<std::string>(report::text_job_report(report, 0, report::ShownWarnings::kAll));
                });
  co_return co_await std::move(opening);
}

base::Task<lsp::Outcome> open_report_command(Context context, CommandParams params) {
  return open_report(context.workspace, context.entries, params.uri);
}

/// Each as "a100", or "a100=1.10" with its price an hour; all data sheets where none is named.
std::vector<app::NamedDevice> named_devices(const Json& argument) {
  const auto words =
      argument.is_null() ? std::vector<std::string>() : protocol::value_as<std::vector<std::string>>(argument);
  std::vector<app::NamedDevice> devices;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    auto named = app::named_device(word.substr(0, equals));
    if (!named) {
      throw protocol::InvalidValue(named.error().message());
    }
    if (equals != std::string::npos) {
      const std::string price = word.substr(equals + 1);
      double value = -1;
      const auto [end, problem] = std::from_chars(price.data(), price.data() + price.size(), value);
      if (problem != std::errc() || end != price.data() + price.size() || !(value >= 0 && value <= 1e9)) {
        throw protocol::InvalidValue("The price of " + word + " is not a number: write a100=1.10.");
      }
      named->price_per_hour = value;
    }
    devices.push_back(std::move(*named));
  }
  return words.empty() ? app::all_data_sheets() : devices;
}

/// Devices of one kind, and the steps as that kind runs them.
struct ListedDevices {
  ListedSizes listed;
  std::vector<app::NamedDevice> devices;
};

/// The table of `ridgeline devices --on`.
base::Result<std::string> devices_text(const std::vector<ListedDevices>& kinds) {
  const ListedSizes& first = kinds.front().listed;
  auto table = operations::OperationTable::open(app::operation_table_path(first.cache));
  if (!table) {
    return table.error();
  }
  auto estimators = app::kept_estimators(first.cache);
  if (!estimators) {
    return estimators.error();
  }
  report::OtherDevices answer{first.entry_path, first.captured.front().batch_size, {}, {}};
  for (const auto& [listed, devices] : kinds) {
    auto predicted = app::on_devices(listed.captured, devices, *table, *estimators);
    if (!predicted) {
      return predicted.error();
    }
    std::ranges::move(*predicted, std::back_inserter(answer.devices));
  }
  report::sort_devices(answer);
  return report::text_other_devices(answer);
}

base::Task<lsp::Outcome> compare_devices_command(Context context, CommandParams params) {
  Json progress = Json::object();
  if (!params.work_done_token.is_null()) {
    progress["workDoneToken"] = params.work_done_token;
  }
  std::vector<ListedDevices> kinds;
  for (const auto& [are_gpus, devices] : app::by_kind(named_devices(params.argument))) {
    auto listing = context.what_if.list_sizes(context.workspace, params.uri, are_gpus, progress, context.cancel);
    ListedEnd listed = co_await std::move(listing);
    if (!listed) {
      co_return error_of_run(listed.error());
    }
    kinds.push_back({std::move(*listed), devices});
  }
  const std::string name = std::filesystem::path(kinds.front().listed.entry_path).stem().string() + "-devices.txt";
  auto opening =
      open_text(context.workspace, context.entries, name, [kinds = std::move(kinds)] { return devices_text(kinds); });
  co_return co_await std::move(opening);
}

// ---- the tables

using Command = base::Task<lsp::Outcome> (*)(Context, CommandParams);

const std::map<std::string, Command, std::less<>> kCommands = {{"ridgeline.cancel", cancel_command},
                                                               {"ridgeline.compareDevices", compare_devices_command},
                                                               {"ridgeline.openJob", open_job_command},
                                                               {"ridgeline.openReport", open_report_command},
                                                               {"ridgeline.profile", profile_command},
                                                               {"ridgeline.run", run_command},
                                                               {"ridgeline.setBatchSize", set_batch_size_command}};

base::Task<lsp::Outcome> execute_command(Context context, CommandParams params) {
  const auto command = kCommands.find(params.command);
  if (command == kCommands.end()) {
    throw protocol::InvalidValue("command: there is no " + params.command.substr(0, 80));
  }
  return command->second(std::move(context), std::move(params));
}

/// A request: its name, and a function of typed parameters.
template <typename Params, typename Function>
struct Method {
  const char* name;
  Function run;

  lsp::RequestHandler handler(const ContextOf& context_of) const {
    return [context_of, run = run](lsp::Session& session, const Json& json, lsp::Reply reply, lsp::CancelToken cancel) {
      Params params;
      from_json(json, params);
      Context context = context_of(session);
      context.cancel = std::move(cancel);
      base::start(session.loop(), respond_with(std::move(reply), run(std::move(context), std::move(params))));
    };
  }
};

/// A method that waits for something.
template <typename Params>
auto task(const char* name, base::Task<lsp::Outcome> (*run)(Context, Params)) {
  return Method<Params, decltype(run)>{name, run};
}

/// A method about a profile that is there.
template <typename Params>
auto on_profile(const char* name, Json (*make)(const Context&, const Entry&, const Params&)) {
  const auto run = [make](Context context, Params params) -> base::Task<lsp::Outcome> {
    const FoundEntry entry = entry_with(context.entries, params.profile_id);
    if (!entry) {
      co_return entry.error();
    }
    co_return make(context, **entry, params);
  };
  return Method<Params, decltype(run)>{name, run};
}

template <typename Value>
Json json_of(const Value& value) {
  return value;
}
template <typename Value>
Json json_of(const std::optional<Value>& value) {
  return value.has_value() ? Json(*value) : Json();
}

/// A method about an open document, once it is parsed: `make(snapshot, params)` or `make(context, snapshot, params)`.
/// The result is empty for a document that is not open.
template <typename Params, typename Make>
auto on_document(const char* name, Make make) {
  const auto run = [make](Context context, Params params) -> base::Task<lsp::Outcome> {
    Workspace::Question question{params.uri};
    if constexpr (requires { params.position; }) {
      question.position = params.position;
    }
    return when_parsed(context.workspace, std::move(question), [=](const Snapshot* snapshot) -> lsp::Outcome {
      if constexpr (std::is_invocable_v<Make, const Snapshot&, const Params&>) {
        using Result = std::invoke_result_t<Make, const Snapshot&, const Params&>;
        return json_of(snapshot != nullptr ? make(*snapshot, params) : Result());
      } else {
        using Result = std::invoke_result_t<Make, const Context&, const Snapshot&, const Params&>;
        return json_of(snapshot != nullptr ? make(context, *snapshot, params) : Result());
      }
    });
  };
  return Method<Params, decltype(run)>{name, run};
}

/// Every request that a client may send.
template <typename Visit>
void for_each_method(Visit visit) {
  visit(on_document<HoverParams>("textDocument/hover", hover_of));
  visit(on_document<RangeParams>("textDocument/inlayHint", inlay_hints));
  visit(on_document<DocumentParams>("textDocument/codeLens", code_lenses));
  visit(on_document<CodeActionParams>("textDocument/codeAction", actions_of));
  visit(on_document<DocumentParams>("textDocument/diagnostic", document_diagnostics));
  visit(on_profile("ridgeline/breakdown", breakdown));
  visit(on_profile("ridgeline/costliest", costliest));
  visit(on_profile("ridgeline/predictions", predictions));
  visit(task("ridgeline/changeEdit", change_edit));
  visit(task("ridgeline/entryPoint", entry_point));
  visit(task("ridgeline/job", job));
  visit(task("ridgeline/lineCosts", line_costs));
  visit(task("ridgeline/predict", predict));
  visit(task("ridgeline/profile", profile));
  visit(task("ridgeline/run", run_script));
  visit(task("ridgeline/setBatchSize", set_batch_size));
  visit(task("ridgeline/status", status));
  visit(task("ridgeline/summary", summary));
  visit(task("ridgeline/try", try_change));
  visit(task("ridgeline/whatIf", what_if));
  visit(task("workspace/executeCommand", execute_command));
}

}  // namespace

std::map<std::string, lsp::RequestHandler, std::less<>> requests(const ContextOf& context_of) {
  std::map<std::string, lsp::RequestHandler, std::less<>> handlers;
  for_each_method([&](const auto& method) { handlers.emplace(method.name, method.handler(context_of)); });
  return handlers;
}

std::vector<std::string> own_methods() {
  std::vector<std::string> names = {"ridgeline/output", "ridgeline/profileChanged"};
  for_each_method([&](const auto& method) {
    if (std::string_view(method.name).starts_with("ridgeline/")) {
      names.emplace_back(method.name);
    }
  });
  return names;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto& [name, run] : kCommands) {
    names.push_back(name);
  }
  return names;
}

}  // namespace ridgeline::editor
