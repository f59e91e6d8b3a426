// A server of the Model Context Protocol, over the sessions of the language server: tools, resources and prompts.
//
// Two revisions: 2026-07-28, in which each request brings its version and capabilities, and a question to the person is
// a result that is answered by the request's next attempt; and those with `initialize`, up to 2025-11-25, in which the
// server asks by a request of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assistant/mcp_texts.h"
#include "assistant/session_client.h"
#include "assistant/tool.h"
#include "base/callback.h"
#include "base/lifetime.h"
#include "lsp/session/method_table.h"
#include "lsp/transport/transport.h"

namespace ridgeline::assistant {

struct McpOptions {
  std::string folder;        ///< the project, absolute, real
  bool allow_edits = false;  ///< the person allows the tool change_edit to write
  std::string program;       ///< this one
  std::string python;        ///< interpreter; empty: found
};

/// Lives on the loop.
class McpServer : private ClientListener {
 public:
  /// `service` outlives this. `on_end` is called once, when the client has gone.
  McpServer(boost::asio::io_context& loop, std::shared_ptr<lsp::Transport> transport, const lsp::Service& service,
            McpOptions options, base::Callback on_end);
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;
  ~McpServer() override;

  void start();
  /// Ends all calls and closes the connection.
  void stop();

 private:
  class Call;
  /// What a request says of its client.
  struct Client {
    bool is_modern = false;
    bool can_ask = false;
    std::string version;
    std::optional<std::string> log_level;
  };
  using Reply = std::variant<Json, protocol::ResponseError>;

  void receive(const std::string& text);
  void handle(const protocol::Request& request);
  void handle(const protocol::Notification& notification);
  void handle(const protocol::Response& response);
  std::variant<Client, protocol::ResponseError> client_of(const protocol::Request& request) const;
  Reply initialize(const Json& params);
  Reply discover() const;
  /// Nothing for what answers later.
  std::optional<Reply> reply_to(const protocol::Request& request, const Client& client);
  base::Task<void> list_resources(protocol::RequestId id, Client client);
  base::Task<void> read_kept(protocol::RequestId id, Client client, std::string uri);
  static Reply contents(const Client& client, const std::string& uri, const std::pair<std::string, std::string>& found);
  static Json cacheable_for(const Client& client, int ms, const char* scope, Json result);
  std::optional<Reply> call_tool(const protocol::Request& request, const Client& client);
  /// Whether it is the next attempt of a call that waits for the person; that goes on, and may be over.
  bool resume(const protocol::Request& request, const Client& client, const std::string& state);
  void give_up(Call& call);
  void run(const std::shared_ptr<Call>& call);
  void start_waiting();
  base::Task<void> run_tool(std::shared_ptr<Call> call);
  void finish(const std::shared_ptr<Call>& call, const ToolAnswer& answer);
  void keep(const Call& call, const ToolAnswer& answered);
  Json paged(const std::string& text);
  void answer(const protocol::RequestId& id, const Client& client, Reply reply);
  void notify(const char* method, Json params);
  void ask_person(const std::shared_ptr<Call>& call, std::string question, std::function<void(bool)> answered);
  void asked(const std::string& question, const std::vector<std::string>& choices,
             std::function<void(std::optional<std::string>)> answer) override;
  void progressed(const std::string& token, const std::string& message, std::optional<int> percentage) override;
  void logged(protocol::MessageType type, const std::string& text) override;
  std::string path_of(const std::string& name) const;

  boost::asio::io_context& loop_;
  std::shared_ptr<lsp::Transport> transport_;
  McpOptions options_;
  base::Callback on_end_;
  std::unique_ptr<SessionClient> session_;
  const lsp::Service& service_;
  std::optional<Client> legacy_;  ///< once a client has sent `initialize`
  std::map<protocol::RequestId, std::shared_ptr<Call>> calls_;
  std::map<std::string, std::shared_ptr<Call>> suspended_;  ///< by requestState: they wait for the person's answer
  std::deque<std::shared_ptr<Call>> waiting_;               ///< that run code: one at a time
  std::shared_ptr<Call> running_;
  std::map<std::int64_t, std::function<void(bool)>> elicited_;  ///< our questions, by id
  std::int64_t last_id_ = 0;
  std::int64_t last_token_ = 0;
  std::deque<std::pair<std::string, std::string>> pages_;  ///< what `more` continues, by cursor
  std::deque<KeptAnswer> profiles_;                        ///< the newest first
  bool stopped_ = false;
  boost::asio::thread_pool files_{1};  ///< reads what is stored
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::assistant
