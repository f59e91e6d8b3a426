#include "methods/server.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "methods/answers_json.h"
#include "methods/batch_size.h"
#include "methods/code_action.h"
#include "methods/code_lens.h"
#include "methods/hover.h"
#include "methods/inlay_hint.h"
#include "methods/parameters.h"
#include "methods/status.h"
#include "profiling/source_text.h"
#include "protocol/json_fields.h"
#include "report/text.h"
#include "worker/cache.h"

namespace ridgeline::methods {

namespace {

using protocol::Json;
using protocol::member;
using protocol::optional_member;
namespace code = protocol::error_code;

constexpr std::array<const char*, 4> kCommands = {"ridgeline.profile", "ridgeline.cancel", "ridgeline.setBatchSize",
                                                  "ridgeline.openReport"};
constexpr std::array<const char*, 9> kOwnMethods = {
    "ridgeline/profile",     "ridgeline/profileChanged", "ridgeline/summary",
    "ridgeline/breakdown",   "ridgeline/lineCosts",      "ridgeline/predict",
    "ridgeline/predictions", "ridgeline/setBatchSize",   "ridgeline/status"};

Json capabilities_for(const protocol::InitializeParams& client) {
  Json capabilities = {
      {"hoverProvider", true},
      {"inlayHintProvider", true},
      {"codeLensProvider", {{"resolveProvider", false}}},
      {"codeActionProvider", {{"codeActionKinds", {"quickfix", "refactor.rewrite", "source.ridgeline.profile"}}}},
      {"executeCommandProvider", {{"commands", kCommands}}},
      {"experimental", {{"ridgeline", {{"version", 2}, {"methods", kOwnMethods}}}}}};
  if (client.capabilities.diagnostics.pull) {
    capabilities["diagnosticProvider"] = {
        {"identifier", "ridgeline"}, {"interFileDependencies", true}, {"workspaceDiagnostics", false}};
  }
  return capabilities;
}

std::string uri_in(const Json& params) { return member<protocol::TextDocumentIdentifier>(params, "textDocument").uri; }

/// Answers when the document of `question` has been parsed, with what `make` makes of it; as dispatch does, when that
/// throws.
void answer_when_ready(Workspace& workspace, Workspace::Question question, session::Reply reply,
                       std::function<Json(const Snapshot*)> make) {
  auto shared = std::make_shared<session::Reply>(std::move(reply));
  workspace.when_ready(
      std::move(question),
      [shared, make = std::move(make)](const Snapshot* snapshot) {
        try {
          shared->result(make(snapshot));
        } catch (const protocol::InvalidValue& problem) {
          shared->error(code::kInvalidParams, problem.what());
        } catch (const Json::exception& problem) {
          shared->error(code::kInvalidParams, protocol::words_of(problem));
        } catch (const std::exception& problem) {
          shared->error(code::kInternalError, problem.what());
        }
      },
      [shared] {
        shared->error(code::kContentModified, "The text was changed again and again before it could be parsed.",
                      {{"reason", "changing"}});
      });
}

void answer_summary(Workspace& workspace, const Entry& entry, session::Reply reply) {
  const std::string uri = workspace.session().uri_of(entry.path);
  answer_when_ready(workspace, {uri}, std::move(reply), [&entry, uri](const Snapshot* snapshot) {
    const auto* entry_point =
        snapshot != nullptr && snapshot->source.entry_point().has_value() ? &*snapshot->source.entry_point() : nullptr;
    return summary_json(entry, uri, entry_point == nullptr ? std::nullopt : batch_size_in_code(*entry_point));
  });
}

/// Without a client that reads Markdown the words stand as they are.
void fit(protocol::Hover& hover, const protocol::ClientCapabilities& client) {
  hover.contents.markdown = client.hover.markdown;
}

}  // namespace

Server::Server(boost::asio::io_context& loop)
    : entries_(loop,
               [this](const Entry& entry) {
                 for (const auto& [id, client] : clients_) {
                   client->workspace.entry_changed(entry);
                 }
                 trials_.entry_changed(entry);
               }),
      flow_(entries_),
      trial_timer_(loop),
      trials_(trial_ports()) {
  service_.capabilities = capabilities_for;
  service_.listener = this;
  add_features();
  add_commands();
  add_own_methods();
}

// ---- sessions

Server::Client& Server::client_of(session::Session& session) {
  auto& client = clients_[session.id()];
  if (client == nullptr) {
    client = std::make_unique<Client>(session, entries_, thread_);
  }
  return *client;
}

void Server::initialized(session::Session& session) {
  client_of(session);
  if (session.capabilities().workspace.watches_files) {
    const Json watched = {{"watchers", Json::array({Json{{"globPattern", "**/*.py"}}})}};
    session.register_capabilities({{"ridgeline-files", "workspace/didChangeWatchedFiles", watched}});
  }
}

void Server::ended(session::Session& session) {
  if (const auto found = clients_.find(session.id()); found != clients_.end()) {
    trials_.ended(session.id());
    flow_.ended(found->second->workspace);
    clients_.erase(found);
  }
}

void Server::document_opened(session::Session& session, const session::Document& document) {
  client_of(session).workspace.opened(document);
}

void Server::document_changed(session::Session& session, const session::Document& document,
                              std::span<const session::ByteEdit> edits) {
  client_of(session).workspace.changed(document, edits);
  if (client_of(session).workspace.view(document.uri()) != nullptr) {
    trials_.changed({session.id(), document.uri(), document.path()});
  }
}

void Server::document_saved(session::Session& session, const session::Document& document) {
  flow_.saved(client_of(session).workspace, document);
}

void Server::document_closed(session::Session& session, const session::Document& document) {
  trials_.closed({session.id(), document.uri(), document.path()});
  client_of(session).workspace.closed(document);
}

void Server::configuration_changed(session::Session& session) { client_of(session).workspace.configure(); }

// ---- methods

void Server::add_features() {
  /// A method about an open document; null where it is not open.
  const auto on_document = [this](const char* method, const Json& nothing, auto answer) {
    service_.methods.requests[method] = [this, nothing, answer](session::Session& session, const Json& params,
                                                                session::Reply reply, const session::CancelToken&) {
      Workspace::Question question{uri_in(params)};
      question.position = optional_member<protocol::Position>(params, "position");
      answer_when_ready(client_of(session).workspace, std::move(question), std::move(reply),
                        [nothing, answer, params](const Snapshot* snapshot) -> Json {
                          return snapshot != nullptr ? answer(*snapshot, params) : nothing;
                        });
    };
  };
  on_document("textDocument/hover", nullptr, [](const Snapshot& snapshot, const Json& params) -> Json {
    auto found = hover(snapshot, member<protocol::Position>(params, "position"));
    if (!found.has_value()) {
      return nullptr;
    }
    fit(*found, snapshot.client);
    return *found;
  });
  on_document("textDocument/inlayHint", Json::array(), [](const Snapshot& snapshot, const Json& params) -> Json {
    return inlay_hints(snapshot, member<protocol::Range>(params, "range"));
  });
  on_document("textDocument/codeLens", Json::array(),
              [](const Snapshot& snapshot, const Json&) -> Json { return code_lenses(snapshot); });
  on_document("textDocument/codeAction", Json::array(), [](const Snapshot& snapshot, const Json& params) -> Json {
    return code_actions(snapshot, member<protocol::Range>(params, "range"),
                        member<protocol::CodeActionContext>(params, "context"));
  });
  service_.methods.requests["textDocument/diagnostic"] = [this](session::Session& session, const Json& params,
                                                                session::Reply reply, const session::CancelToken&) {
    Workspace& workspace = client_of(session).workspace;
    answer_when_ready(workspace, {uri_in(params)}, std::move(reply), [&workspace](const Snapshot* snapshot) -> Json {
      protocol::DocumentDiagnosticReport report;
      if (snapshot != nullptr) {
        report.items = workspace.diagnostics_of(*snapshot);
      }
      return report;
    });
  };
  service_.methods.notifications["workspace/didChangeWatchedFiles"] = [this](session::Session& session,
                                                                             const Json& params) {
    for (const Json& change : member<std::vector<Json>>(params, "changes")) {
      const auto path = session.path_of(member<std::string>(change, "uri"));
      if (path.has_value() && session.documents().find_path(*path) == nullptr) {
        entries_.file_is(*path, profiling::text_of(*path));
      }
    }
  };
}

void Server::profile(session::Session& session, const std::string& uri, const Json& params, session::Reply reply,
                     const session::CancelToken& cancel) {
  auto answer = std::make_shared<session::Reply>(std::move(reply));
  flow_.start(client_of(session).workspace, uri, params, cancel,
              [this, answer, id = session.id()](const Entry* entry, const profiling::RunFailure* failure) {
                const auto client = clients_.find(id);
                if (client == clients_.end()) {
                  return;  // the session has ended
                }
                if (failure == nullptr) {
                  answer_summary(client->second->workspace, *entry, std::move(*answer));
                } else if (failure->failure.kind == protocol::FailureKind::kCancelled) {
                  answer->error(code::kRequestCancelled, failure->failure.message, failure_json(*failure));
                } else {
                  answer->error(code::kRequestFailed, failure->failure.message, failure_json(*failure));
                }
              });
}

void Server::open_report(session::Session& session, const std::string& uri, session::Reply reply) {
  const auto path = session.path_of(uri);
  const Entry* entry = path.has_value() ? entries_.find(*path) : nullptr;
  if (entry == nullptr || entry->figures == nullptr) {
    reply.error(code::kRequestFailed, "There is no profile of this file. Run ridgeline.profile first.");
    return;
  }
  std::string error;
  const std::string folder = worker::cache_folder(error) + "/reports";
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  const analysis::Profile& profile = entry->figures->profile();
  const std::string file =
      folder + "/" + std::filesystem::path(entry->path).stem().string() + "-" + profile.id + ".txt";
  const auto line_of = [figures = entry->figures](const analysis::Location& place) -> std::optional<std::string> {
    const FileFigures* found = figures->file(figures->path_of(place));
    if (found == nullptr || found->text == nullptr || place.line == 0) {
      return std::nullopt;
    }
    const session::Text text(*found->text);
    return place.line <= text.line_count() ? std::optional(std::string(text.line(place.line - 1))) : std::nullopt;
  };
  std::ofstream out(file);
  out << report::text_report(profile, entry->figures->outlook(), line_of, {});
  if (!error.empty() || problem || !out.flush()) {
    reply.error(code::kRequestFailed, "The report could not be written to " + folder + ". " + error);
    return;
  }
  const std::string where = session.uri_of(file);
  if (session.capabilities().window.show_document) {
    session.request("window/showDocument", {{"uri", where}});
  }
  reply.result({{"uri", where}});
}

void Server::add_commands() {
  service_.methods.requests["workspace/executeCommand"] =
      [this](session::Session& session, const Json& params, session::Reply reply, const session::CancelToken& cancel) {
        const auto command = member<std::string>(params, "command");
        const auto arguments = optional_member<std::vector<Json>>(params, "arguments").value_or(std::vector<Json>{});
        if (arguments.empty() || !arguments[0].is_string()) {
          throw protocol::InvalidValue("arguments: the first must be the URI of an entry file");
        }
        const auto uri = arguments[0].get<std::string>();
        const Json second = arguments.size() > 1 ? arguments[1] : Json();
        if (command == "ridgeline.profile") {
          Json more = second.is_object() ? second : Json::object();
          if (const auto token = params.find("workDoneToken"); token != params.end()) {
            more["workDoneToken"] = *token;
          }
          profile(session, uri, more, std::move(reply), cancel);
        } else if (command == "ridgeline.cancel") {
          entries_.cancel(session.path_of(uri).value_or(""));
          reply.result(nullptr);
        } else if (command == "ridgeline.setBatchSize") {
          client_of(session).writer.write(uri, protocol::value_as<int>(second), std::move(reply));
        } else if (command == "ridgeline.openReport") {
          open_report(session, uri, std::move(reply));
        } else {
          throw protocol::InvalidValue("command: there is no " + command.substr(0, 80));
        }
      };
}

void Server::add_own_methods() {
  auto& requests = service_.methods.requests;
  requests["ridgeline/profile"] = [this](session::Session& session, const Json& params, session::Reply reply,
                                         const session::CancelToken& cancel) {
    profile(session, uri_in(params), params, std::move(reply), cancel);
  };
  requests["ridgeline/setBatchSize"] = [this](session::Session& session, const Json& params, session::Reply reply,
                                              const session::CancelToken&) {
    client_of(session).writer.write(uri_in(params), member<int>(params, "batchSize"), std::move(reply));
  };
  requests["ridgeline/status"] = [this](session::Session& session, const Json& params, session::Reply reply,
                                        const session::CancelToken&) {
    reply.result(status_json(client_of(session).workspace, entries_, params));
  };
  /// Of the profile that a method speaks of by its id; null, and answered, when there is none.
  const auto entry_in = [this](const Json& params, session::Reply& reply) {
    const auto id = member<std::string>(params, "profileId");
    const Entry* entry = entries_.by_profile(id);
    if (entry == nullptr) {
      reply.error(code::kContentModified, "There is no profile " + id.substr(0, 40) + " any more.",
                  {{"reason", "gone"}});
    }
    return entry;
  };
  const auto of_profile = [this, entry_in](const char* method, auto answer) {
    service_.methods.requests[method] = [entry_in, answer](session::Session& session, const Json& params,
                                                           session::Reply reply, const session::CancelToken&) {
      if (const Entry* entry = entry_in(params, reply)) {
        reply.result(answer(session, *entry, params));
      }
    };
  };
  requests["ridgeline/lineCosts"] = [this, entry_in](session::Session& session, const Json& params,
                                                     session::Reply reply, const session::CancelToken&) {
    const Entry* entry = entry_in(params, reply);
    if (entry == nullptr) {
      return;
    }
    const auto costs = [figures = entry->figures, params](const Snapshot* snapshot) -> Json {
      if (snapshot == nullptr) {
        throw protocol::InvalidValue("textDocument: it is not open");
      }
      if (snapshot->entry->figures != figures) {
        throw protocol::InvalidValue("profileId: another profile has taken its place");
      }
      const auto node = optional_member<std::string>(params, "node");
      return line_costs_json(*snapshot, node.has_value() && !node->empty() ? &node_in(*figures, params) : nullptr);
    };
    answer_when_ready(client_of(session).workspace, {uri_in(params), entry, std::nullopt}, std::move(reply), costs);
  };
  /// ridgeline/summary also answers for a document, which is how a client learns the id.
  requests["ridgeline/summary"] = [this](session::Session& session, const Json& params, session::Reply reply,
                                         const session::CancelToken&) {
    const auto id = optional_member<std::string>(params, "profileId");
    const Entry* entry =
        id.has_value() ? entries_.by_profile(*id) : entries_.for_file(session.path_of(uri_in(params)).value_or(""));
    if (entry == nullptr && id.has_value()) {
      reply.error(code::kContentModified, "There is no profile " + id->substr(0, 40) + " any more.",
                  {{"reason", "gone"}});
      return;
    }
    if (entry == nullptr) {
      reply.result(nullptr);
    } else {
      answer_summary(client_of(session).workspace, *entry, std::move(reply));
    }
  };
  of_profile("ridgeline/breakdown", [](session::Session& session, const Entry& entry, const Json& params) {
    return breakdown_json(*entry.figures, node_in(*entry.figures, params),
                          [&](const std::string& path) { return session.uri_of(path); });
  });
  requests["ridgeline/predict"] = [this, entry_in](session::Session& session, const Json& params, session::Reply reply,
                                                   const session::CancelToken&) {
    if (const Entry* entry = entry_in(params, reply)) {
      const auto predict = [figures = entry->figures, question = question_in(params)](const Snapshot* snapshot) {
        return prediction_json(*figures, question, snapshot);
      };
      answer_when_ready(client_of(session).workspace, {session.uri_of(entry->path)}, std::move(reply), predict);
    }
  };
  of_profile("ridgeline/predictions",
             [](session::Session&, const Entry& entry, const Json&) { return predictions_json(*entry.figures); });
}

}  // namespace ridgeline::methods
