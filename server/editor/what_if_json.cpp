#include "editor/what_if_json.h"

#include <string>
#include <utility>

#include "protocol/shown_text.h"
#include "report/rendered_what_if.h"
#include "source/change_edits.h"

namespace ridgeline::editor {

using protocol::Json;

Json what_if_json(const analysis::WhatIf& answer, const std::string& uri) {
  Json json = Json::parse(report::json_what_if(answer));
  json["uri"] = uri;
  json["basisText"] = report::basis_text(answer);
  json["tryText"] = report::try_text(answer);
  for (std::size_t i = 0; i < answer.changes.size(); ++i) {
    const analysis::ChangeAnswer& row = answer.changes[i];
    Json& shown = json["changes"][i];
    shown["reason"] = protocol::printable(row.reason);
    shown["notTried"] = protocol::printable(row.not_tried);
    shown["predictedText"] = report::predicted_text(row);
    shown["triedText"] = report::tried_text(row);
    shown["peakText"] = report::peak_text(answer, row);
    shown["lossText"] = report::loss_text(row);
    shown["certaintyText"] = report::certainty_text(answer, row);
    shown["canBeWritten"] = row.reason.empty() && row.can_be_written;
  }
  return json;
}

Json tried_json(const analysis::WhatIf& answer) { return what_if_json(answer, "")["changes"][0]; }

Json change_edit_json(const Snapshot& snapshot, const protocol::ChangeRequest& change, const std::string& device) {
  const auto tree = source::SourceTree::parse(snapshot.document.bytes());
  auto edits = tree.has_value() ? source::change_edits(*tree, change, device)
                                : base::Result<std::vector<source::TextEdit>>(base::error("The file is too large."));
  if (!edits) {
    return {{"edit", nullptr}, {"noEditReason", edits.error().message()}};
  }
  protocol::TextDocumentEdit written{snapshot.document.uri(), snapshot.document.version(), {}};
  for (source::TextEdit& edit : *edits) {
    written.edits.push_back({snapshot.range(edit.span), std::move(edit.replacement)});
  }
  const protocol::WorkspaceEdit whole{{std::move(written)}};
  return {{"edit", snapshot.client.workspace.document_changes ? Json(whole) : protocol::plain_changes(whole)},
          {"noEditReason", ""}};
}

}  // namespace ridgeline::editor
