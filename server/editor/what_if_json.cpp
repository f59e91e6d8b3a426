#include "editor/what_if_json.h"

#include <string>
#include <utility>

#include "editor/script_arguments.h"
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
  for (const std::string& one : change) {
    const auto options = tree.has_value() ? source::options_behind(*tree, one) : std::vector<std::string>();
    const std::string value = one.substr(one.find(':') + 1);  // "4,1": only the first number is written
    if (auto arguments = arguments_with(snapshot.own.get(), options, value.substr(0, value.find(',')))) {
      return {{"edit", nullptr},
              {"noEditReason", "An argument of the run goes before the number in this file."},
              {"arguments", std::move(*arguments)}};
    }
  }
  auto edits = tree.has_value() ? source::change_edits(*tree, change, device)
                                : base::Result<std::vector<source::TextEdit>>(base::error("The file is too large."));
  if (!edits) {
    return {{"edit", nullptr}, {"noEditReason", edits.error().message()}, {"arguments", nullptr}};
  }
  protocol::TextDocumentEdit written{snapshot.document.uri(), snapshot.document.version(), {}};
  for (source::TextEdit& edit : *edits) {
    written.edits.push_back({snapshot.range(edit.span), std::move(edit.replacement)});
  }
  const protocol::WorkspaceEdit whole{{std::move(written)}};
  return {{"edit", snapshot.client.workspace.document_changes ? Json(whole) : protocol::plain_changes(whole)},
          {"noEditReason", ""},
          {"arguments", nullptr}};
}

}  // namespace ridgeline::editor
