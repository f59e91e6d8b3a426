// A client of the language server that holds it to its word: every request is answered at most once, every answer is to
// a request that was made, and what is sent is JSON. No code is run: profiles are refused.
#pragma once

#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "editor/server.h"
#include "lsp/session/session.h"
#include "protocol/json_rpc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/temporary_folder.h"

namespace ridgeline::fuzz {

using protocol::Json;

class Client : public lsp::Transport {
 public:
  /// `on_answer` gets every response.
  explicit Client(std::function<void(const Json&)> on_answer = [](const Json&) {}) : on_answer_(std::move(on_answer)) {}

  void start(Handlers handlers) override { handlers_ = std::move(handlers); }
  void send(std::string text) override {
    CLAIM(!closed_);
    const Json message = Json::parse(text, nullptr, false);
    CLAIM(message.is_object() && message.value("jsonrpc", "") == "2.0");
    if (!message.contains("method")) {
      CLAIM(message.contains("result") != message.contains("error"));
      const std::string id = message.at("id").dump();
      CLAIM(id == "null" || --open_[id] >= 0);
      on_answer_(message);
    }
  }
  void close() override { closed_ = true; }
  void limit_messages(std::size_t /*bytes*/) override {}
  bool idle() const override { return true; }

  void say(std::string_view line) {
    if (closed_) {
      return;
    }
    const auto message = protocol::parse_message(line);
    if (const auto* good = std::get_if<protocol::Message>(&message)) {
      if (const auto* request = std::get_if<protocol::Request>(good)) {
        std::visit([this](const auto& id) { ++open_[Json(id).dump()]; }, request->id);
      }
    } else if (const auto& id = std::get<protocol::Malformed>(message).id) {
      std::visit([this](const auto& value) { ++open_[Json(value).dump()]; }, *id);
    }
    const Handlers handlers = handlers_;
    handlers.on_message(std::string(line));
  }

 private:
  std::function<void(const Json&)> on_answer_;
  Handlers handlers_;
  bool closed_ = false;
  std::map<std::string, int> open_;  ///< requests without an answer, by id
};

inline const lsp::RequestHandler refuse = [](lsp::Session&, const Json&, lsp::Reply reply, const lsp::CancelToken&) {
  reply.error(protocol::error_code::kRequestFailed, "not here");
};

inline lsp::Service service_of(const editor::Server& server) {
  lsp::Service service = server.service();
  service.methods.requests["ridgeline/profile"] = refuse;
  service.methods.requests["workspace/executeCommand"] =
      [execute = service.methods.requests.at("workspace/executeCommand")](
          lsp::Session& session, const Json& params, lsp::Reply reply, const lsp::CancelToken& cancel) {
        const bool runs_code = params.is_object() && params.value("command", Json()) == "ridgeline.profile";
        (runs_code ? refuse : execute)(session, params, std::move(reply), cancel);
      };
  return service;
}

/// Begins a session that watches no process. The caller ends it.
inline std::shared_ptr<lsp::Session> begin(boost::asio::io_context& loop, const lsp::Service& service,
                                           const std::shared_ptr<Client>& client) {
  lsp::SessionOptions options;
  options.watch_process = [](boost::asio::io_context&, pid_t, const std::function<void()>&) {
    return std::make_shared<int>(0);
  };
  auto session = std::make_shared<lsp::Session>(loop, client, service, options, [](int) {});
  session->start();
  return session;
}

inline void poll(boost::asio::io_context& loop) {
  loop.restart();
  loop.poll();
}

/// A folder that is the daemon's cache and goes with the process. No log is written.
inline const std::filesystem::path& make_cache() {
  spdlog::set_level(spdlog::level::off);
  static const testing::TemporaryFolder folder;
  CLAIM(::setenv("RIDGELINE_CACHE", folder.path().c_str(), 1) == 0);
  return folder.path();
}

}  // namespace ridgeline::fuzz
