#include "methods/batch_size_writer.h"

#include <utility>

#include "methods/batch_size.h"

namespace ridgeline::methods {

namespace {

using protocol::Json;

Json outcome(bool applied, int batch_size, const std::string& reason) {
  return {{"applied", applied}, {"batchSize", batch_size}, {"reason", reason}};
}

}  // namespace

void BatchSizeWriter::write(const std::string& uri, int batch_size, session::Reply reply) {
  Wish wish{batch_size, std::move(reply)};
  if (!sent_.contains(uri)) {
    send(uri, std::move(wish));
    return;
  }
  if (const auto before = waiting_.find(uri); before != waiting_.end()) {
    before->second.reply.result(outcome(false, before->second.batch_size, "a later batch size replaced it"));
    waiting_.erase(before);
  }
  waiting_.emplace(uri, std::move(wish));
}

void BatchSizeWriter::send(const std::string& uri, Wish wish) {
  const SourceView* view = workspace_.view(uri);
  if (view == nullptr) {
    wish.reply.error(protocol::error_code::kRequestFailed, "The file is not open: open it to have it edited.");
    return;
  }
  const auto& entry_point = view->entry_point();
  if (entry_point.has_value() && batch_size_in_code(*entry_point) == wish.batch_size) {
    wish.reply.result(outcome(true, wish.batch_size, ""));  // it stands there
    return;
  }
  std::string why_not;
  const auto edit = batch_size_edit(view->document(), *view, wish.batch_size, why_not);
  const protocol::ClientCapabilities& client = workspace_.session().capabilities();
  if (!edit.has_value() || !client.workspace.apply_edit) {
    wish.reply.error(protocol::error_code::kRequestFailed,
                     edit.has_value() ? "The editor does not let servers edit (workspace/applyEdit)." : why_not);
    return;
  }
  const Json params = {{"label", "Batch size " + std::to_string(wish.batch_size)},
                       {"edit", client.workspace.document_changes ? Json(*edit) : protocol::plain_changes(*edit)}};
  sent_.emplace(uri, std::move(wish));
  workspace_.session().request("workspace/applyEdit", params,
                               [this, uri](const session::ClientAnswer& answer) { answered(uri, answer); });
}

void BatchSizeWriter::answered(const std::string& uri, const session::ClientAnswer& answer) {
  auto sent = sent_.extract(uri);
  if (sent.empty()) {
    return;
  }
  const Json* result = std::get_if<Json>(&answer);
  const bool applied = result != nullptr && result->is_object() && result->value("applied", Json()) == true;
  std::string reason;
  if (!applied) {
    const Json words = result != nullptr && result->is_object() ? result->value("failureReason", Json()) : Json();
    reason = words.is_string() ? words.get<std::string>() : "the editor refused the edit";
  }
  Wish& wish = sent.mapped();
  wish.reply.result(outcome(applied, wish.batch_size, reason));
  if (auto next = waiting_.extract(uri); !next.empty()) {
    send(uri, std::move(next.mapped()));
  }
}

}  // namespace ridgeline::methods
