#include "editor/batch_size_writer.h"

#include <utility>

#include "editor/batch_size_method.h"

namespace ridgeline::editor {

namespace {

using protocol::Json;

lsp::Outcome outcome(bool applied, int batch_size, const std::string& reason) {
  return Json{{"applied", applied}, {"batchSize", batch_size}, {"reason", reason}};
}

}  // namespace

base::Task<lsp::Outcome> BatchSizeWriter::write(std::string uri, int batch_size) {
  const auto begin = [&](std::function<void(lsp::Outcome)> answer) { add(uri, {batch_size, std::move(answer)}); };
  auto written = base::callback<lsp::Outcome>(begin);
  co_return co_await std::move(written);
}

void BatchSizeWriter::add(const std::string& uri, Request request) {
  if (!sent_.contains(uri)) {
    send(uri, std::move(request));
    return;
  }
  auto before = waiting_.extract(uri);
  waiting_.emplace(uri, std::move(request));
  if (!before.empty()) {
    before.mapped().answer(outcome(false, before.mapped().batch_size, "a later batch size replaced it"));
  }
}

void BatchSizeWriter::send(const std::string& uri, Request request) {
  sent_.emplace(uri, std::move(request));
  workspace_.when_ready({uri}, [this, uri](const Snapshot* snapshot) { send_edit(uri, snapshot); });
}

void BatchSizeWriter::send_edit(const std::string& uri, const Snapshot* snapshot) {
  const auto refuse = [&](const std::string& why) {
    finish(uri, [&](const Request&) { return protocol::ResponseError{protocol::error_code::kRequestFailed, why}; });
  };
  if (snapshot == nullptr) {
    refuse("The file is not open: open it to have it edited.");
    return;
  }
  const int batch_size = sent_.at(uri).batch_size;
  if (batch_size_in_code(*snapshot->source, snapshot->own.get()) == batch_size) {
    finish(uri, [&](const Request&) { return outcome(true, batch_size, ""); });  // nothing to change
    return;
  }
  const auto edit = batch_size_edit(*snapshot, batch_size);
  const protocol::ClientCapabilities& client = workspace_.session().capabilities();
  if (!edit || !client.workspace.apply_edit) {
    refuse(edit ? "The editor does not let servers edit (workspace/applyEdit)." : edit.error().message());
    return;
  }
  const Json params = {{"label", "Batch size " + std::to_string(batch_size)},
                       {"edit", client.workspace.document_changes ? Json(*edit) : protocol::plain_changes(*edit)}};
  workspace_.session().request("workspace/applyEdit", params,
                               [this, uri](const lsp::ClientAnswer& answer) { applied(uri, answer); });
}

void BatchSizeWriter::finish(const std::string& uri, base::FunctionRef<lsp::Outcome(const Request&)> answer) {
  const auto sent = sent_.extract(uri);
  if (sent.empty()) {
    return;
  }
  lsp::Outcome made = answer(sent.mapped());
  if (auto next = waiting_.extract(uri); !next.empty()) {
    send(uri, std::move(next.mapped()));
  }
  sent.mapped().answer(std::move(made));
}

void BatchSizeWriter::applied(const std::string& uri, const lsp::ClientAnswer& answer) {
  const Json* result = std::get_if<Json>(&answer);
  const bool is_applied = result != nullptr && result->is_object() && result->value("applied", Json()) == true;
  std::string reason;
  if (!is_applied) {
    const Json text = result != nullptr && result->is_object() ? result->value("failureReason", Json()) : Json();
    reason = text.is_string() ? text.get<std::string>() : "the editor refused the edit";
  }
  finish(uri, [&](const Request& request) { return outcome(is_applied, request.batch_size, reason); });
}

}  // namespace ridgeline::editor
