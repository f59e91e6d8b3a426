#include "editor/status.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/profiling/entry_check.h"
#include "editor/answers_json.h"
#include "protocol/json_fields.h"
#include "worker/machine.h"

namespace ridgeline::editor {

using protocol::Json;

namespace {

/// What the client has open of the file; nothing: it is not open.
std::optional<std::string> open_text(const Workspace& workspace, const app::Target& target) {
  std::vector<protocol::SourceText> texts = workspace.open_texts(target.project_root);
  const auto open = std::ranges::find(texts, target.entry, &protocol::SourceText::path);
  return open == texts.end() ? std::nullopt : std::optional(std::move(open->text));
}

}  // namespace

Json status_json(const lsp::Session& session, const Entries& entries) {
  Json known = Json::array();
  for (const auto& [path, entry] : entries.all()) {
    Json one = changed_json(*entry);
    one["uri"] = session.uri_of(path);
    known.push_back(std::move(one));
  }
  return {{"version", RIDGELINE_VERSION},
          {"queueLength", entries.waiting_or_running()},
          {"workerWarm", entries.is_worker_warm()},
          {"processor", worker::processor_name()},
          {"processors", worker::processor_count()},
          {"capacityBytes", worker::memory_capacity()},
          {"entries", std::move(known)},
          {"target", nullptr}};
}

base::Task<Json> target_json(Workspace& workspace, Entries& entries, std::string path) {
  auto task = workspace.while_open(entries.find_target(workspace.settings().request(path)));
  const auto found = co_await std::move(task);
  if (!found) {
    co_return Json{{"problem", found.error().message}};
  }
  const app::Target& target = *found;
  auto check = workspace.while_open(entries.consent_holds(target, false));
  const bool trusted = co_await std::move(check);
  auto reading = workspace.while_open(entries.read_files(
      [path = target.entry, text = open_text(workspace, target)] { return app::is_training_script(path, text); }));
  const bool is_script = co_await std::move(reading);
  Json json = {{"entry", target.entry},
               {"projectRoot", target.project_root},
               {"interpreter", target.interpreter.path},
               {"interpreterSource", target.interpreter.source},
               {"device", target.device},
               {"cache", target.cache},
               {"trusted", trusted},
               {"isScript", is_script},
               {"python", nullptr},
               {"torch", nullptr}};
  if (const auto entry = entries.find(target.entry); entry != nullptr && entry->figures != nullptr) {
    json["python"] = entry->figures->profile().environment.python;
    json["torch"] = entry->figures->profile().environment.torch;
  }
  co_return json;
}

}  // namespace ridgeline::editor
