#include "editor/document_methods.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "app/profiling/entry_name.h"
#include "editor/code_action.h"
#include "editor/hover.h"
#include "protocol/json_fields.h"
#include "source/entry_point_text.h"

namespace ridgeline::editor {

using protocol::Json;

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
    co_return protocol::ResponseError{
        protocol::error_code::kRequestFailed, script.filename().string() + ": " + made.error().message(), {}};
  }
  co_return Json{{"text", made->text}, {"fileName", file_name}, {"unknown", made->unknown}};
}

base::Task<lsp::Outcome> set_batch_size(Context context, SetBatchSizeParams params) {
  return context.writer.write(params.uri, params.batch_size);
}

base::Task<lsp::Outcome> set_batch_size_command(Context context, CommandParams params) {
  return context.writer.write(params.uri, protocol::value_as<int>(params.argument));
}

}  // namespace ridgeline::editor
