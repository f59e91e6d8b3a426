#include "editor/config_edit.h"

#include <string>
#include <utility>

#include "app/profiling/unsaved_text.h"
#include "base/path.h"
#include "source/batch_size.h"

namespace ridgeline::editor {

base::Task<protocol::Json> with_config_edit(Context context, std::shared_ptr<const Figures> figures, int batch_size,
                                            protocol::Json answer) {
  const auto& elsewhere = figures->profile_with_sources().batch_size_elsewhere;
  const bool lacks_edit = answer["edit"].is_null() && answer["noEditReason"] != "" && answer["arguments"].is_null();
  const auto edit = lacks_edit && elsewhere && batch_size > 0
                        ? source::batch_size_edit(elsewhere->number, static_cast<std::uint64_t>(batch_size))
                        : std::nullopt;
  if (!edit.has_value()) {
    co_return answer;
  }
  const protocol::SourceText& file = elsewhere->file;
  auto reading = context.workspace.while_open(
      context.entries.read_files([path = file.path, text = file.text] { return app::text_of(path) == text; }));
  if (!co_await std::move(reading)) {
    answer["noEditReason"] = std::string(base::file_name(file.path)) + " has changed since the script was profiled.";
    co_return answer;
  }
  const lsp::Session& session = context.session();
  const lsp::Document document({session.uri_of(file.path), "yaml", 0, file.text}, file.path, session.encoding());
  protocol::TextDocumentEdit written{document.uri(), std::nullopt, {}};
  written.edits.push_back({document.range(edit->span.begin, edit->span.end), edit->replacement});
  const protocol::WorkspaceEdit whole{{std::move(written)}};
  const bool versioned = session.capabilities().workspace.document_changes;
  answer["edit"] = versioned ? protocol::Json(whole) : protocol::plain_changes(whole);
  answer["noEditReason"] = "";
  co_return answer;
}

}  // namespace ridgeline::editor
