#include "editor/server.h"

#include <string>
#include <utility>
#include <vector>

#include "editor/editor_methods.h"
#include "protocol/json_fields.h"

namespace ridgeline::editor {

namespace {

using protocol::Json;

Json capabilities_for(const protocol::InitializeParams& client) {
  Json capabilities = {
      {"hoverProvider", true},
      {"inlayHintProvider", true},
      {"codeLensProvider", {{"resolveProvider", false}}},
      {"codeActionProvider", {{"codeActionKinds", {"quickfix", "refactor.rewrite", "source.ridgeline.profile"}}}},
      {"executeCommandProvider", {{"commands", command_names()}}},
      {"experimental", {{"ridgeline", {{"version", 4}, {"methods", own_methods()}}}}}};
  if (client.capabilities.diagnostics.pull) {
    capabilities["diagnosticProvider"] = {
        {"identifier", "ridgeline"}, {"interFileDependencies", true}, {"workspaceDiagnostics", false}};
  }
  return capabilities;
}

}  // namespace

Server::Server(boost::asio::io_context& loop)
    : entries_(loop, *this), flow_(entries_), what_if_(entries_, flow_), trial_timer_(loop), trials_(*this) {
  service_.capabilities = capabilities_for;
  service_.listener = this;
  service_.methods.requests = requests([this](lsp::Session& session) {
    Client& client = client_of(session);
    return Context{client.workspace, client.writer, entries_, flow_, what_if_};
  });
  service_.methods.notifications["workspace/didChangeWatchedFiles"] =
      [this](lsp::Session& session, const Json& params) { files_changed(session, params); };
}

void Server::entry_changed(const Entry& entry) {
  for (const auto& [id, client] : clients_) {
    client->workspace.entry_changed(entry);
  }
  trials_.entry_changed(entry);
}

void Server::phase_changed(const Entry& entry) {
  for (const auto& [id, client] : clients_) {
    client->workspace.phase_changed(entry);
  }
}

// ---- sessions

Server::Client& Server::client_of(lsp::Session& session) {
  auto& client = clients_[session.id()];
  if (client == nullptr) {
    client = std::make_unique<Client>(session, entries_, thread_);
  }
  return *client;
}

void Server::initialized(lsp::Session& session) {
  client_of(session);
  if (session.capabilities().workspace.watches_files) {
    const Json watched = {{"watchers", Json::array({Json{{"globPattern", "**/*.py"}}})}};
    session.register_capabilities({{"ridgeline-files", "workspace/didChangeWatchedFiles", watched}});
  }
}

void Server::ended(lsp::Session& session) {
  if (const auto found = clients_.find(session.id()); found != clients_.end()) {
    trials_.ended(session.id());
    flow_.ended(found->second->workspace);
    clients_.erase(found);
  }
}

void Server::document_opened(lsp::Session& session, const lsp::Document& document) {
  client_of(session).workspace.opened(document);
}

void Server::document_changed(lsp::Session& session, const lsp::Document& document,
                              std::span<const lsp::ByteEdit> edits) {
  client_of(session).workspace.changed(document, edits);
  if (client_of(session).workspace.view(document.uri()) != nullptr) {
    trials_.changed({session.id(), document.uri(), document.path()});
  }
}

void Server::document_saved(lsp::Session& session, const lsp::Document& document) {
  what_if_.saved(document.path());
  flow_.saved(client_of(session).workspace, document);
}

void Server::document_closed(lsp::Session& session, const lsp::Document& document) {
  trials_.closed({session.id(), document.uri(), document.path()});
  client_of(session).workspace.closed(document);
}

void Server::configuration_changed(lsp::Session& session) { client_of(session).workspace.configure(); }

void Server::files_changed(lsp::Session& session, const Json& params) {
  for (const Json& change : protocol::member<std::vector<Json>>(params, "changes")) {
    const auto path = session.path_of(protocol::member<std::string>(change, "uri"));
    if (path.has_value()) {
      client_of(session).workspace.reread(*path);
    }
  }
}

}  // namespace ridgeline::editor
