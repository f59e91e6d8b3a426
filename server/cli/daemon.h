// The sessions of one `ridgeline serve`, and the loop that they live on.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/callback.h"
#include "base/result.h"
#include "cli/links.h"
#include "cli/token_file.h"
#include "lsp/session/session.h"
#include "lsp/session/waiting_room.h"
#include "lsp/transport/endpoint.h"

namespace ridgeline::cli {

struct ServeOptions {
  bool stdio = false;
  std::string pipe;          ///< path of a Unix socket
  std::optional<int> port;   ///< on 127.0.0.1; 0: any
  std::string token_file;    ///< empty: one of ours
  std::int64_t process = 0;  ///< the client's: the daemon ends with it; 0: none is named
  lsp::PathMaps path_maps;
  int idle_exit_s = 0;  ///< of a daemon that listens: ends when nobody has needed it for so long; 0: never
};

/// Serves one client, on standard input and output or where a client listens, and ends with it; or listens, and serves
/// everybody who comes until it is stopped.
class Daemon final : private LinkServer {
 public:
  Daemon(boost::asio::io_context& loop, const lsp::Service& service, ServeOptions options);

  base::Result<void> start();
  /// Ends all sessions and listens no more: the loop runs out of work within a second.
  void stop(std::string_view reason);
  /// Called once it is stopped, so that nothing else keeps the loop at work.
  void on_stop(base::Callback action) { on_stop_ = std::move(action); }
  /// The exit code that LSP prescribes, where the daemon served one client; else 0.
  int exit_code() const { return exit_code_; }

 private:
  base::Result<void> start_pipe();
  base::Result<void> start_port();
  base::Result<void> watch_client();
  lsp::ListenerHandlers handlers(lsp::ConnectionHandler on_connection);
  void ask_for_token(std::shared_ptr<lsp::Transport> connection);
  /// By the first message: serves a client that speaks LSP, or gives the connection to the session of its link.
  void greet(const std::shared_ptr<lsp::Transport>& connection);
  void serve(std::shared_ptr<lsp::Transport> connection) override;
  void serve_single_client(std::shared_ptr<lsp::Transport> connection);
  /// Begins to wait for the idle exit, when there is one and no session.
  void wait_if_idle();
  void session_ended(const std::shared_ptr<lsp::Session>& ended, int exit_code);

  boost::asio::io_context& loop_;
  const lsp::Service& service_;
  ServeOptions options_;
  std::optional<TokenFile> token_;
  std::unique_ptr<lsp::Listener> listener_;
  std::set<std::shared_ptr<lsp::Session>> sessions_;
  lsp::WaitingRoom waiting_;  ///< have not spoken or shown their token yet
  Links links_;
  boost::asio::steady_timer idle_;
  std::shared_ptr<void> client_process_;
  bool has_single_client_ = false;
  bool stopped_ = false;
  int exit_code_ = 0;
  base::Callback on_stop_;
};

}  // namespace ridgeline::cli
