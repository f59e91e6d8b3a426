// A call of a tool: what the tool may use, and how far it is.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "assistant/mcp_server.h"
#include "assistant/tool.h"

namespace ridgeline::assistant {

/// Lives on the loop. After each wait it ends, by base::OwnerGone, where the server has gone.
class McpServer::Call : public ToolContext, public std::enable_shared_from_this<Call> {
 public:
  Call(McpServer& server, protocol::RequestId call_id, Client of_client, const Tool& called, Json given);

  base::Task<Json> ask(std::string method, Json params) override;
  std::string open(const std::string& path) override;
  std::string path_of(const std::string& name) const override;
  std::string uri_of(const std::string& path) const override;
  std::string relative(const std::string& path_or_uri) const override;
  const std::string& folder() const override;
  bool may_edit() const override;
  base::Task<bool> allowed(std::string question) override;
  base::Task<void> pause() override;
  base::Task<std::pair<int, std::string>> run_program(std::vector<std::string> program_arguments) override;

  void cancel();
  /// The person has not allowed what it asked for.
  void refuse() { was_refused_ = true; }
  /// With which the person allows it in a terminal.
  std::string allow_command() const;

 private:
  void go_on() const;

  McpServer& server_;
  std::weak_ptr<const void> alive_;
  std::set<std::int64_t> requests_;
  std::string entry_;
  bool was_refused_ = false;
  pid_t program_ = 0;

 public:
  protocol::RequestId id;
  Client client;
  const Tool& tool;
  Json arguments;
  std::string token;                   ///< of its progress, in the language server
  std::optional<Json> progress_token;  ///< the client's
  double progress = 0;
  bool is_cancelled = false;
  bool is_suspended = false;                ///< its request was answered with a question
  std::function<void(bool)> answer_person;  ///< while it waits for that
};

}  // namespace ridgeline::assistant
