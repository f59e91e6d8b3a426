// ridgeline/setBatchSize: writes the batch size into the code through the client, one edit at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "editor/workspace.h"
#include "lsp/session/reply.h"

namespace ridgeline::editor {

/// While the client applies an edit, further requests wait, and only the last of them is written: dragging a bar makes
/// few edits. Lives on the loop, as long as its workspace.
class BatchSizeWriter {
 public:
  explicit BatchSizeWriter(Workspace& workspace) : workspace_(workspace) {}

  /// Answers {applied, batchSize, reason}. A request that a later one replaced is not applied, and says so.
  base::Task<lsp::Outcome> write(std::string uri, int batch_size);

  /// Whether the client still has to apply an edit of ours, as while a bar is dragged.
  bool is_writing(const std::string& uri) const { return sent_.contains(uri); }

 private:
  struct Request {
    int batch_size = 0;
    std::function<void(lsp::Outcome)> answer;
  };

  void add(const std::string& uri, Request request);
  void send(const std::string& uri, Request request);
  void send_edit(const std::string& uri, const Snapshot* snapshot);
  /// Answers the request that was sent, and sends the one that waits.
  void finish(const std::string& uri, base::FunctionRef<lsp::Outcome(const Request&)> answer);
  void applied(const std::string& uri, const lsp::ClientAnswer& answer);

  Workspace& workspace_;
  std::map<std::string, Request> sent_;     ///< by URI: being made, or being applied by the client
  std::map<std::string, Request> waiting_;  ///< by URI: to be sent after it
};

}  // namespace ridgeline::editor
