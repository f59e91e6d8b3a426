// What a session keeps of its client: documents, folders, settings, path maps.
#include <spdlog/spdlog.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "lsp/session/session.h"
#include "protocol/json_fields.h"

namespace ridgeline::lsp {

using protocol::Json;
using protocol::member;

Session::OwnHandler Session::own_handler(std::string_view method) {
  static const std::map<std::string_view, OwnHandler> kHandlers = {
      {"$/cancelRequest", &Session::cancel},
      {"$/setTrace", &Session::set_trace},
      {"initialized", &Session::on_initialized},
      {"textDocument/didChange", &Session::change_document},
      {"textDocument/didClose", &Session::close_document},
      {"textDocument/didOpen", &Session::open_document},
      {"textDocument/didSave", &Session::save_document},
      {"window/workDoneProgress/cancel", &Session::cancel_progress},
      {"workspace/didChangeConfiguration", &Session::change_configuration},
      {"workspace/didChangeWorkspaceFolders", &Session::change_folders},
  };
  const auto found = kHandlers.find(method);
  return found == kHandlers.end() ? nullptr : found->second;
}

void Session::set_trace(const Json& params) { client_.trace = member<std::string>(params, "value"); }

// ---- documents

void Session::open_document(const Json& params) {
  auto item = member<protocol::TextDocumentItem>(params, "textDocument");
  if (const std::optional<Document> before = documents_.close(item.uri)) {
    spdlog::warn("session {}: {} is opened twice", id_, item.uri);
    notify_listener("closing a document", [&](SessionListener& listener) { listener.document_closed(*this, *before); });
  }
  std::string path = path_of(item.uri).value_or("");
  const Document& document = documents_.open(Document(std::move(item), std::move(path), encoding_));
  notify_listener("opening a document", [&](SessionListener& listener) { listener.document_opened(*this, document); });
}

void Session::change_document(const Json& params) {
  const auto id = member<protocol::VersionedTextDocumentIdentifier>(params, "textDocument");
  const auto changes = member<std::vector<protocol::TextDocumentContentChange>>(params, "contentChanges");
  Document* document = documents_.find_to_change(id.uri);
  if (document == nullptr) {
    log(protocol::MessageType::kWarning, "a change of " + id.uri + ", which is not open, is ignored");
    return;
  }
  if (id.version <= document->version()) {
    spdlog::warn("session {}: {} goes from version {} to {}", id_, id.uri, document->version(), id.version);
  }
  const AppliedChanges applied = document->change(id.version, changes);
  if (applied.error.has_value()) {
    log(protocol::MessageType::kWarning,
        id.uri + " is out of sync: " + *applied.error + ". Close and reopen it, so that it is profiled as you see it.");
  }
  notify_listener("changing a document",
                  [&](SessionListener& listener) { listener.document_changed(*this, *document, applied.edits); });
}

void Session::save_document(const Json& params) {
  const auto id = member<protocol::TextDocumentIdentifier>(params, "textDocument");
  if (const Document* document = documents_.find(id.uri)) {
    notify_listener("saving a document", [&](SessionListener& listener) { listener.document_saved(*this, *document); });
  }
}

void Session::close_document(const Json& params) {
  const auto id = member<protocol::TextDocumentIdentifier>(params, "textDocument");
  if (const std::optional<Document> document = documents_.close(id.uri)) {
    notify_listener("closing a document",
                    [&](SessionListener& listener) { listener.document_closed(*this, *document); });
  }
}

// ---- names of files

void Session::add_path_maps() {
  const Json& options = client_.options;
  if (!options.is_object() || !options.contains("pathMaps")) {
    return;
  }
  for (const Json& map : member<std::vector<Json>>(options, "pathMaps")) {
    options_.path_maps.add({member<std::string>(map, "local"), member<std::string>(map, "remote")});
  }
}

std::optional<std::string> Session::path_of(std::string_view uri) const {
  if (const Document* open = documents_.find(uri); open != nullptr && !open->path().empty()) {
    return open->path();  // resolved when it was opened: a request about it does not wait for a disk
  }
  std::optional<std::string> path = path_of_uri(uri);
  if (path.has_value()) {
    path = options_.path_maps.to_ours(std::move(*path));
    std::error_code problem;
    const std::filesystem::path real = std::filesystem::weakly_canonical(*path, problem);
    path = problem ? *path : real.string();
  }
  return path;
}

std::string Session::uri_of(const std::string& path) const {
  const Document* open = documents_.find_path(path);
  return open != nullptr ? open->uri() : uri_of_path(options_.path_maps.to_theirs(path));
}

// ---- folders and settings

void Session::change_folders(const Json& params) {
  const auto event = member<Json>(params, "event");
  const auto removed = member<std::vector<protocol::WorkspaceFolder>>(event, "removed");
  const auto added = member<std::vector<protocol::WorkspaceFolder>>(event, "added");
  for (const auto* gone : {&removed, &added}) {  // a folder that is added twice is listed once
    for (const protocol::WorkspaceFolder& folder : *gone) {
      std::erase_if(folders_, [&](const auto& present) { return present.uri == folder.uri; });
    }
  }
  folders_.insert(folders_.end(), added.begin(), added.end());
  notify_listener("changing folders", [this](SessionListener& listener) { listener.folders_changed(*this); });
}

void Session::change_configuration(const Json& params) {
  if (capabilities().workspace.configuration) {
    pull_configuration();
    return;
  }
  auto settings = member<Json>(params, "settings");
  const bool has_section = settings.is_object() && settings.contains(service_.settings_section);
  take_settings(has_section ? std::move(settings[service_.settings_section]) : std::move(settings));
}

void Session::pull_configuration() {
  if (!capabilities().workspace.configuration) {
    return;
  }
  request("workspace/configuration", {{"items", Json::array({Json{{"section", service_.settings_section}}})}},
          [this](ClientAnswer answer) {  // `this`: the session calls it, or nobody does
            if (const auto* error = std::get_if<protocol::ResponseError>(&answer)) {
              spdlog::warn("session {}: the client does not send its settings: {}", id_, error->message);
              if (settings_.is_null()) {
                take_settings(Json::object());  // who waits for them waits no more
              }
              return;
            }
            auto& items = std::get<Json>(answer);
            take_settings(items.is_array() && !items.empty() ? std::move(items[0]) : Json());
          });
}

void Session::take_settings(Json settings) {
  settings_ = std::move(settings);
  notify_listener("changing settings", [this](SessionListener& listener) { listener.configuration_changed(*this); });
}

}  // namespace ridgeline::lsp
