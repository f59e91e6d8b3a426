#include "protocol/client_capabilities.h"

#include <algorithm>
#include <initializer_list>

#include "protocol/json_fields.h"

namespace ridgeline::protocol {

namespace {

using Path = std::initializer_list<const char*>;

/// What stands at the end of the names; null when the way there is none.
const Json& at(const Json& from, Path names) {
  static const Json kNothing;
  const Json* here = &from;
  for (const char* name : names) {
    const auto found = here->is_object() ? here->find(name) : here->end();
    if (found == here->end()) {
      return kNothing;
    }
    here = &*found;
  }
  return *here;
}

bool flag(const Json& from, Path names) {
  const Json& value = at(from, names);
  return value.is_boolean() && value.get<bool>();
}

bool present(const Json& from, Path names) { return at(from, names).is_object(); }

std::vector<std::string> texts(const Json& from, Path names) {
  std::vector<std::string> found;
  const Json& list = at(from, names);
  if (list.is_array()) {
    for (const Json& value : list) {
      if (value.is_string()) {
        found.push_back(value.get<std::string>());
      }
    }
  }
  return found;
}

bool lists(const Json& from, Path names, const char* wanted) {
  const std::vector<std::string> found = texts(from, names);
  return std::find(found.begin(), found.end(), wanted) != found.end();
}

bool registrable(const Json& from, const char* part, const char* name) {
  return flag(from, {part, name, "dynamicRegistration"});
}

ClientCapabilities::Workspace read_workspace(const Json& all) {
  ClientCapabilities::Workspace workspace;
  workspace.apply_edit = flag(all, {"workspace", "applyEdit"});
  workspace.document_changes = flag(all, {"workspace", "workspaceEdit", "documentChanges"});
  workspace.configuration = flag(all, {"workspace", "configuration"});
  workspace.folders = flag(all, {"workspace", "workspaceFolders"});
  workspace.code_lens_refresh = flag(all, {"workspace", "codeLens", "refreshSupport"});
  workspace.inlay_hint_refresh = flag(all, {"workspace", "inlayHint", "refreshSupport"});
  workspace.diagnostics_refresh = flag(all, {"workspace", "diagnostics", "refreshSupport"});
  workspace.watches_files = registrable(all, "workspace", "didChangeWatchedFiles");
  workspace.relative_patterns = flag(all, {"workspace", "didChangeWatchedFiles", "relativePatternSupport"});
  return workspace;
}

ClientCapabilities::Registrable read_registrable(const Json& all) {
  ClientCapabilities::Registrable what;
  what.configuration = registrable(all, "workspace", "didChangeConfiguration");
  what.execute_command = registrable(all, "workspace", "executeCommand");
  what.synchronization = registrable(all, "textDocument", "synchronization");
  what.hover = registrable(all, "textDocument", "hover");
  what.code_lens = registrable(all, "textDocument", "codeLens");
  what.code_action = registrable(all, "textDocument", "codeAction");
  what.inlay_hint = registrable(all, "textDocument", "inlayHint");
  what.diagnostic = registrable(all, "textDocument", "diagnostic");
  return what;
}

}  // namespace

ClientCapabilities read_client_capabilities(const Json& all) {
  ClientCapabilities read;
  read.position_encodings = texts(all, {"general", "positionEncodings"});
  read.workspace = read_workspace(all);
  read.registrable = read_registrable(all);

  read.hover.markdown = lists(all, {"textDocument", "hover", "contentFormat"}, "markdown");

  const Json& action = at(all, {"textDocument", "codeAction"});
  read.code_action.literals = present(action, {"codeActionLiteralSupport"});
  read.code_action.data = flag(action, {"dataSupport"});
  read.code_action.resolve_edit = lists(action, {"resolveSupport", "properties"}, "edit");
  read.code_action.is_preferred = flag(action, {"isPreferredSupport"});
  read.code_action.disabled = flag(action, {"disabledSupport"});

  const Json& hint = at(all, {"textDocument", "inlayHint"});
  read.inlay_hint.shown = hint.is_object();
  read.inlay_hint.resolve_tooltip = lists(hint, {"resolveSupport", "properties"}, "tooltip");

  const Json& published = at(all, {"textDocument", "publishDiagnostics"});
  // A client that cannot be asked to pull again would miss diagnostics of a profile that ends while nobody types.
  read.diagnostics.pull = present(all, {"textDocument", "diagnostic"}) && read.workspace.diagnostics_refresh;
  for (const Json* kind : {&published, &at(all, {"textDocument", "diagnostic"})}) {
    read.diagnostics.related_information |= flag(*kind, {"relatedInformation"});
    read.diagnostics.code_description |= flag(*kind, {"codeDescriptionSupport"});
    read.diagnostics.data |= flag(*kind, {"dataSupport"});
  }
  read.diagnostics.version = flag(published, {"versionSupport"});

  read.window.work_done_progress = flag(all, {"window", "workDoneProgress"});
  read.window.show_document = flag(all, {"window", "showDocument", "support"});
  read.experimental = at(all, {"experimental"});
  return read;
}

void from_json(const Json& json, InitializeParams& value) {
  value = {};
  value.capabilities = read_client_capabilities(member<Json>(json, "capabilities"));
  value.process_id = optional_member<std::int64_t>(json, "processId");
  value.client_name = optional_member<std::string>(at(json, {"clientInfo"}), "name").value_or("");
  value.client_version = optional_member<std::string>(at(json, {"clientInfo"}), "version").value_or("");
  value.root_uri = optional_member<std::string>(json, "rootUri").value_or("");
  value.folders =
      optional_member<std::vector<WorkspaceFolder>>(json, "workspaceFolders").value_or(std::vector<WorkspaceFolder>());
  value.options = at(json, {"initializationOptions"});
  value.trace = optional_member<std::string>(json, "trace").value_or("off");
}

}  // namespace ridgeline::protocol
