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
  sent_.emplace(uri, std::move(wish));
  workspace_.when_ready({uri}, [this, uri](const Snapshot* snapshot) { send_edit(uri, snapshot); });
}

void BatchSizeWriter::send_edit(const std::string& uri, const Snapshot* snapshot) {
  const auto refuse = [&](const std::string& why) {
    finish(uri, [&](Wish& wish) { wish.reply.error(protocol::error_code::kRequestFailed, why); });
  };
  if (snapshot == nullptr) {
    refuse("The file is not open: open it to have it edited.");
    return;
  }
  const int batch_size = sent_.at(uri).batch_size;
  const auto& entry_point = snapshot->source.entry_point();
  if (entry_point.has_value() && batch_size_in_code(*entry_point) == batch_size) {
    finish(uri, [&](Wish& wish) { wish.reply.result(outcome(true, batch_size, "")); });  // it stands there
    return;
  }
  std::string why_not;
  const auto edit = batch_size_edit(snapshot->document, snapshot->source, batch_size, why_not);
  const protocol::ClientCapabilities& client = workspace_.session().capabilities();
  if (!edit.has_value() || !client.workspace.apply_edit) {
    refuse(edit.has_value() ? "The editor does not let servers edit (workspace/applyEdit)." : why_not);
    return;
  }
  const Json params = {{"label", "Batch size " + std::to_string(batch_size)},
                       {"edit", client.workspace.document_changes ? Json(*edit) : protocol::plain_changes(*edit)}};
  workspace_.session().request("workspace/applyEdit", params,
                               [this, uri](const session::ClientAnswer& answer) { answered(uri, answer); });
}

void BatchSizeWriter::finish(const std::string& uri, const std::function<void(Wish&)>& answer) {
  auto sent = sent_.extract(uri);
  if (sent.empty()) {
    return;
  }
  answer(sent.mapped());
  if (auto next = waiting_.extract(uri); !next.empty()) {
    send(uri, std::move(next.mapped()));
  }
}

void BatchSizeWriter::answered(const std::string& uri, const session::ClientAnswer& answer) {
  const Json* result = std::get_if<Json>(&answer);
  const bool applied = result != nullptr && result->is_object() && result->value("applied", Json()) == true;
  std::string reason;
  if (!applied) {
    const Json words = result != nullptr && result->is_object() ? result->value("failureReason", Json()) : Json();
    reason = words.is_string() ? words.get<std::string>() : "the editor refused the edit";
  }
  finish(uri, [&](Wish& wish) { wish.reply.result(outcome(applied, wish.batch_size, reason)); });
}

}  // namespace ridgeline::methods
