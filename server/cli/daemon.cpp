#include "cli/daemon.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <stdexcept>
#include <utility>
#include <variant>

#include "cli/terminal.h"
#include "lsp/session/authentication.h"
#include "lsp/transport/peeked.h"
#include "lsp/transport/stream_transport.h"

namespace ridgeline::cli {

Daemon::Daemon(boost::asio::io_context& loop, const lsp::Service& service, ServeOptions options)
    : loop_(loop), service_(service), options_(std::move(options)), links_(loop, *this), idle_(loop) {}

base::Result<void> Daemon::start() {
  if (base::Result<void> watched = watch_client(); !watched) {
    return watched;
  }
  if (!options_.pipe.empty()) {
    return start_pipe();
  }
  if (options_.port.has_value()) {
    return start_port();
  }
  auto connection = lsp::take_standard_streams(loop_);
  if (!connection) {
    return connection.error();
  }
  serve_single_client(std::move(*connection));
  return {};
}

base::Result<void> Daemon::watch_client() {
  if (options_.process == 0) {
    return {};
  }
  client_process_ = lsp::watch_process_end(loop_, static_cast<pid_t>(options_.process), [this] {
    exit_code_ = 1;
    stop("the client's process has ended");
  });
  if (client_process_ == nullptr) {
    return base::error("--clientProcessId: no process of yours has the id " + std::to_string(options_.process));
  }
  return {};
}

lsp::ListenerHandlers Daemon::handlers(std::function<void(std::shared_ptr<lsp::Transport>)> on_connection) {
  return {std::move(on_connection), [](const std::string& reason) { spdlog::warn("{}", reason); }};
}

base::Result<void> Daemon::start_pipe() {
  auto endpoint = lsp::open_pipe(loop_, options_.pipe, handlers([this](auto connection) { greet(connection); }));
  if (auto* problem = std::get_if<lsp::EndpointProblem>(&endpoint)) {
    return base::error(std::move(problem->what));
  }
  if (auto* connection = std::get_if<std::shared_ptr<lsp::Transport>>(&endpoint)) {
    serve_single_client(std::move(*connection));
  } else {
    listener_ = std::move(std::get<std::unique_ptr<lsp::Listener>>(endpoint));
    print_error("listening at " + options_.pipe);
    wait_if_idle();
  }
  return {};
}

base::Result<void> Daemon::start_port() {
  auto endpoint = lsp::open_port(loop_, static_cast<std::uint16_t>(*options_.port),
                                 handlers([this](auto connection) { ask_for_token(std::move(connection)); }));
  if (auto* problem = std::get_if<lsp::EndpointProblem>(&endpoint)) {
    return base::error(std::move(problem->what));
  }
  if (auto* connection = std::get_if<std::shared_ptr<lsp::Transport>>(&endpoint)) {
    serve_single_client(std::move(*connection));
  } else {
    listener_ = std::move(std::get<std::unique_ptr<lsp::Listener>>(endpoint));
    auto token = TokenFile::open(options_.token_file, listener_->port());
    if (!token) {
      listener_.reset();
      return token.error();
    }
    token_.emplace(std::move(*token));
    print_error("listening on 127.0.0.1:" + std::to_string(listener_->port()) + "; the token is in " + token_->path());
  }
  return {};
}

void Daemon::ask_for_token(std::shared_ptr<lsp::Transport> connection) {
  waiting_.add([&](const std::function<void()>& leave) {
    return lsp::authenticate(
        loop_, std::move(connection), token_->token(), {},
        [this, leave](auto known) {
          leave();
          serve(std::move(known));
        },
        [leave](const std::string& reason) {
          leave();
          spdlog::warn("refused a client: {}", reason);
        });
  });
}

void Daemon::greet(const std::shared_ptr<lsp::Transport>& connection) {
  waiting_.add([&](const std::function<void()>& leave) {
    return lsp::peek(
        loop_, connection,
        [this, leave](std::shared_ptr<lsp::Transport> known, const std::string& first) {
          leave();
          if (const auto greeting = lsp::parse_greeting(first); greeting.has_value() && !stopped_) {
            links_.connected(known, *greeting);
          } else {
            serve(std::move(known));
          }
        },
        leave);
  });
}

void Daemon::serve_single_client(std::shared_ptr<lsp::Transport> connection) {
  has_single_client_ = true;
  serve(std::move(connection));
}

void Daemon::serve(std::shared_ptr<lsp::Transport> connection) {
  if (stopped_) {
    connection->close();
    return;
  }
  lsp::SessionOptions options;
  options.path_maps = options_.path_maps;
  auto weak = std::make_shared<std::weak_ptr<lsp::Session>>();
  auto session = std::make_shared<lsp::Session>(loop_, std::move(connection), service_, std::move(options),
                                                [this, weak](int code) { session_ended(weak->lock(), code); });
  *weak = session;
  sessions_.insert(session);
  session->start();
}

void Daemon::wait_if_idle() {
  if (options_.idle_exit_s == 0 || !sessions_.empty() || stopped_) {
    return;
  }
  idle_.expires_after(std::chrono::seconds(options_.idle_exit_s));
  idle_.async_wait([this](const auto& problem) {
    if (!problem && sessions_.empty()) {
      stop("nobody needs it");
    }
  });
}

void Daemon::session_ended(const std::shared_ptr<lsp::Session>& ended, int exit_code) {
  sessions_.erase(ended);
  wait_if_idle();
  if (has_single_client_ && !stopped_) {
    exit_code_ = exit_code;
    if (options_.port.has_value() && !ended->was_initialized()) {
      print_error("the program that listens on 127.0.0.1:" + std::to_string(*options_.port) +
                  " ended the connection without sending anything. An editor sends the first message. If it is "
                  "another ridgeline, connect the editor to that one, or choose another port.");
    }
    stop("the only session has ended");
  }
}

void Daemon::stop(std::string_view reason) {
  if (std::exchange(stopped_, true)) {
    return;
  }
  spdlog::debug("stopping: {}", reason);
  listener_.reset();
  links_.stop();
  idle_.cancel();
  client_process_.reset();
  waiting_.clear();
  for (const auto& session : std::set(sessions_)) {
    session->end(reason);
  }
  if (on_stop_) {
    on_stop_();
  }
}

}  // namespace ridgeline::cli
