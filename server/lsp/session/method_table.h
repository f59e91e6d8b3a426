// What a server can do, given to the sessions from outside: a table of methods, its capabilities, and a listener.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "lsp/session/cancel.h"
#include "lsp/session/reply.h"
#include "protocol/client_capabilities.h"
#include "protocol/json_rpc.h"

namespace ridgeline::lsp {

class Document;
class Session;
struct ByteEdit;

/// Runs on the loop's thread and must not block. An exception ends nothing but the request: protocol::InvalidValue and
/// what nlohmann::json throws answer InvalidParams, anything else InternalError. `params`: null when there are none.
using RequestHandler = std::function<void(Session&, const protocol::Json& params, Reply, CancelToken)>;
using NotificationHandler = std::function<void(Session&, const protocol::Json& params)>;

/// Methods by their names. A session answers these itself, whatever stands here: initialize, initialized, shutdown,
/// exit, $/*, textDocument/did{Open,Change,Save,Close}, workspace/didChange{WorkspaceFolders,Configuration},
/// window/workDoneProgress/cancel.
struct MethodTable {
  std::map<std::string, RequestHandler, std::less<>> requests;
  std::map<std::string, NotificationHandler, std::less<>> notifications;
};

/// Notified of what happens in all sessions, on the loop's thread. Each call comes after the session's own state has
/// changed.
class SessionListener {
 public:
  SessionListener() = default;
  SessionListener(const SessionListener&) = delete;
  SessionListener& operator=(const SessionListener&) = delete;
  virtual ~SessionListener() = default;

  /// The client is ready: from here on it accepts requests and notifications. Its configuration may not have arrived
  /// yet.
  virtual void initialized(Session& /*session*/) {}
  /// Last call for this session. Nothing can be sent any more; its documents are still there.
  virtual void ended(Session& /*session*/) {}
  virtual void document_opened(Session& /*session*/, const Document& /*document*/) {}
  /// `edits`: one after the other, each in the bytes that the ones before it left. They lead to the document's text.
  virtual void document_changed(Session& /*session*/, const Document& /*document*/,
                                std::span<const ByteEdit> /*edits*/) {}
  virtual void document_saved(Session& /*session*/, const Document& /*document*/) {}
  /// The document as it was when it was closed.
  virtual void document_closed(Session& /*session*/, const Document& /*document*/) {}
  /// Session::folders() has changed.
  virtual void folders_changed(Session& /*session*/) {}
  /// Session::settings() has come or changed.
  virtual void configuration_changed(Session& /*session*/) {}
};

/// What all sessions of a server share. It outlives them.
struct Service {
  MethodTable methods;
  /// The server's capabilities for this client; added to those that the session itself has (positionEncoding,
  /// textDocumentSync, workspace.workspaceFolders). Null: there are none.
  protocol::Json (*capabilities)(const protocol::InitializeParams& client) = nullptr;
  SessionListener* listener = nullptr;
  /// Section of the client's settings that is ours.
  std::string settings_section = "ridgeline";
};

}  // namespace ridgeline::lsp
