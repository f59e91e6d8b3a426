#include "methods/status.h"

#include <string>
#include <variant>

#include "methods/answers_json.h"
#include "protocol/json_fields.h"
#include "worker/machine.h"

namespace ridgeline::methods {

using protocol::Json;

Json status_json(const Workspace& workspace, const Entries& entries, const Json& params) {
  const session::Session& session = workspace.session();
  Json known = Json::array();
  for (const auto& [path, entry] : entries.all()) {
    Json one = changed_json(entry);
    one["uri"] = session.uri_of(path);
    known.push_back(std::move(one));
  }
  Json status = {{"version", RIDGELINE_VERSION},
                 {"queueLength", entries.waiting_or_running()},
                 {"workerWarm", entries.is_worker_warm()},
                 {"processor", worker::processor_name()},
                 {"processors", worker::processor_count()},
                 {"capacityBytes", worker::memory_capacity()},
                 {"entries", std::move(known)},
                 {"target", nullptr}};
  const auto document = protocol::optional_member<protocol::TextDocumentIdentifier>(params, "textDocument");
  const auto path = document.has_value() ? session.path_of(document->uri) : std::nullopt;
  if (!path.has_value()) {
    return status;
  }
  const auto found = profiling::find_target(workspace.settings().request(*path));
  if (const auto* failure = std::get_if<profiling::RunFailure>(&found)) {
    status["target"] = {{"problem", failure->failure.message}};
    return status;
  }
  const auto& target = std::get<profiling::Target>(found);
  status["target"] = {{"entry", target.entry},
                      {"projectRoot", target.project_root},
                      {"interpreter", target.interpreter.path},
                      {"interpreterSource", target.interpreter.source},
                      {"device", target.device},
                      {"cache", target.cache},
                      {"trusted", entries.consent().holds(target, false)},
                      {"python", nullptr},
                      {"torch", nullptr}};
  if (const Entry* entry = entries.find(target.entry); entry != nullptr && entry->figures != nullptr) {
    status["target"]["python"] = entry->figures->profile().environment.python;
    status["target"]["torch"] = entry->figures->profile().environment.torch;
  }
  return status;
}

}  // namespace ridgeline::methods
