// A client of our own language server in the same process: what an editor is for a person, for tools.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "lsp/session/reply.h"
#include "lsp/session/session.h"
#include "lsp/transport/transport.h"
#include "protocol/json_rpc.h"

namespace ridgeline::assistant {

using protocol::Json;

inline constexpr std::size_t kMostFileBytes = std::size_t{4} << 20U;  ///< of a file that is opened or edited

/// What the server asks and tells its client. All calls come on the loop.
class ClientListener {
 public:
  ClientListener() = default;
  ClientListener(const ClientListener&) = delete;
  ClientListener& operator=(const ClientListener&) = delete;
  virtual ~ClientListener() = default;
  /// A question to the person; `answer` is called once: with one of the choices, or nothing.
  virtual void asked(const std::string& question, const std::vector<std::string>& choices,
                     std::function<void(std::optional<std::string>)> answer) = 0;
  /// `token`: the request's own, or one that the server made for what the person's consent began.
  virtual void progressed(const std::string& token, const std::string& message, std::optional<int> percentage) = 0;
  virtual void logged(protocol::MessageType type, const std::string& text) = 0;
};

/// Lives on the loop.
class SessionClient {
 public:
  /// `folder`: the project, absolute. `settings`: the section `ridgeline` of the client's. `service` and `listener`
  /// outlive this.
  SessionClient(boost::asio::io_context& loop, const lsp::Service& service, std::string folder, Json settings,
                ClientListener& listener);
  SessionClient(const SessionClient&) = delete;
  SessionClient& operator=(const SessionClient&) = delete;
  ~SessionClient();

  /// The result, or the error. `began` is given the id, for cancel().
  base::Task<lsp::Outcome> request(std::string method, Json params, std::function<void(std::int64_t)> began = {});
  void cancel(std::int64_t id);
  /// The document of a file, opened or brought up to date with the disk; its URI. An error when it cannot be read.
  base::Result<std::string> open(const std::string& path);
  std::string uri_of(const std::string& path) const;
  /// Ends the session.
  void end();

 private:
  void receive(const std::string& text);
  void answer(const protocol::Request& request);
  void told(const protocol::Notification& notification);
  void send(const protocol::Message& message);
  void send_when_ready(protocol::Message message);

  ClientListener& listener_;
  Json settings_;
  std::shared_ptr<lsp::Transport> transport_;
  std::shared_ptr<lsp::Session> session_;
  std::map<std::int64_t, std::function<void(lsp::Outcome)>> pending_;
  std::map<std::string, std::pair<int, std::string>> open_;  ///< by path: version and text
  std::vector<protocol::Message> waiting_;                   ///< until the session is initialized
  std::int64_t last_id_ = 0;
  bool ready_ = false;
};

}  // namespace ridgeline::assistant
