#include "editor/what_if_methods.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/predict_devices.h"
#include "app/profiling/batch_changes.h"
#include "editor/config_edit.h"
#include "editor/open_report.h"
#include "editor/what_if_json.h"
#include "lsp/session/progress.h"
#include "protocol/json_fields.h"
#include "report/rendered_devices.h"

namespace ridgeline::editor {

using protocol::Json;
using protocol::ResponseError;

base::Task<lsp::Outcome> what_if(Context context, WhatIfParams params) {
  WhatIfFlow::ShowPart show;
  if (auto send = lsp::partial_results(context.session(), params.params)) {
    show = [send = std::move(send)](const analysis::WhatIf& part) {
      send({{"changes", what_if_json(part, "")["changes"]}});
    };
  }
  if (params.search) {
    auto searching =
        context.what_if.search(context.workspace, params.uri, std::move(params.changes), params.memory_bytes,
                               std::move(params.params), std::move(show), context.cancel);
    const auto found = co_await std::move(searching);
    if (!found) {
      co_return error_of(found.error());
    }
    co_return what_if_json(*found, context.session().uri_of(found->entry_path));
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

base::Task<lsp::Outcome> change_edit(Context context, TryParams params) {
  const auto entry = context.entries.for_file(context.session().path_of(params.uri).value_or(""));
  if (entry == nullptr) {
    co_return ResponseError{protocol::error_code::kRequestFailed, "There is no profile of this file.", {}};
  }
  const auto make = [change = params.change,
                     device = entry->figures->profile().environment.device](const Snapshot* snapshot) -> lsp::Outcome {
    if (snapshot == nullptr) {
      return Json{{"edit", nullptr},
                  {"noEditReason", "The entry file is not open: open it to edit it."},
                  {"arguments", nullptr}};
    }
    return change_edit_json(*snapshot, change, device);
  };
  auto making = when_parsed(context.workspace, {context.session().uri_of(entry->path)}, make);
  lsp::Outcome made = co_await std::move(making);
  auto* answer = std::get_if<Json>(&made);
  const std::optional<int> size = params.change.size() == 1 ? app::requested_batch_size(params.change) : std::nullopt;
  if (answer == nullptr || !size.has_value()) {
    co_return made;
  }
  auto edited = with_config_edit(context, entry->figures, *size, std::move(*answer));
  co_return co_await std::move(edited);
}

base::Task<lsp::Outcome> compare_devices_command(Context context, CommandParams params) {
  auto reading = context.workspace.while_open(
      context.entries.read_files([names = texts_in(params)] { return app::priced_devices(names, {}); }));
  auto devices = co_await std::move(reading);
  if (!devices) {
    throw protocol::InvalidValue(devices.error().message());
  }
  auto predicting =
      context.what_if.compare_devices(context.workspace, params.uri, {std::move(*devices), dataset_size_in(params)},
                                      progress_params(params), context.cancel);
  const auto answer = co_await std::move(predicting);
  if (!answer) {
    co_return error_of(answer.error());
  }
  std::string text = report::text_other_devices(answer->devices);
  for (const std::string& warning : answer->warnings) {
    text += "! " + warning + "\n";
  }
  const std::string name = std::filesystem::path(answer->devices.entry).stem().string() + "-devices.txt";
  auto opening = open_text(context.workspace, context.entries, name,
                           [text = std::move(text)] { return base::Result<std::string>(text); });
  co_return co_await std::move(opening);
}

}  // namespace ridgeline::editor
