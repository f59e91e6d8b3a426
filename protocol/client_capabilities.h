// What a client announces in `initialize`, as far as we use it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/json_rpc.h"
#include "protocol/lsp.h"

namespace ridgeline::protocol {

/// What the client supports. Members that are missing or invalid are read as unsupported.
struct ClientCapabilities {
  std::vector<std::string> position_encodings;  ///< as offered, the preferred one first; empty: not announced

  struct Workspace {
    bool apply_edit = false;
    bool document_changes = false;  ///< knows WorkspaceEdit.documentChanges
    bool configuration = false;     ///< answers workspace/configuration
    bool folders = false;           ///< has workspace folders, and notifies of changes
    bool code_lens_refresh = false;
    bool inlay_hint_refresh = false;
    bool diagnostics_refresh = false;
    bool watches_files = false;  ///< workspace/didChangeWatchedFiles can be registered
    bool relative_patterns = false;
  } workspace;

  /// What can be registered while the session goes on.
  struct Registrable {
    bool configuration = false;
    bool execute_command = false;
    bool synchronization = false;
    bool hover = false;
    bool code_lens = false;
    bool code_action = false;
    bool inlay_hint = false;
    bool diagnostic = false;
  } registrable;

  struct Hover {
    bool markdown = false;  ///< else plain text
  } hover;

  struct CodeAction {
    bool literals = false;  ///< else only commands
    bool data = false;
    bool resolve_edit = false;
    bool is_preferred = false;
    bool disabled = false;
  } code_action;

  struct InlayHint {
    bool shown = false;  ///< the client has inlay hints at all
    bool resolve_tooltip = false;
  } inlay_hint;

  struct Diagnostics {
    bool pull = false;  ///< textDocument/diagnostic: then nothing is published
    bool related_information = false;
    bool code_description = false;
    bool data = false;
    bool version = false;
  } diagnostics;

  struct Window {
    bool work_done_progress = false;
    bool show_document = false;
  } window;

  Json experimental{};  ///< unchanged
};

struct InitializeParams {
  std::optional<std::int64_t> process_id;
  std::string client_name;     ///< empty: unknown
  std::string client_version;  ///< likewise
  std::string root_uri;        ///< empty: none
  std::vector<WorkspaceFolder> folders;
  ClientCapabilities capabilities;
  Json options{};  ///< initializationOptions, or null
  std::string trace = "off";
};

ClientCapabilities read_client_capabilities(const Json& capabilities);
/// Throws InvalidValue when `params` is no object or has no `capabilities`.
void from_json(const Json& json, InitializeParams& value);

}  // namespace ridgeline::protocol
