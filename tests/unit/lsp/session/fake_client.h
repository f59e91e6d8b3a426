// A session whose client is the test: what it is sent, and what it says.
#pragma once

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsp/session/session.h"
#include "lsp/transport/transport.h"
#include "protocol/json_rpc.h"

namespace ridgeline::lsp::testing {

using protocol::Json;

/// Keeps what is sent; tells what the test wants told.
class FakeTransport : public lsp::Transport {
 public:
  void start(Handlers new_handlers) override { handlers = std::move(new_handlers); }
  void send(std::string message) override {
    EXPECT_FALSE(closed);
    sent.push_back(Json::parse(message));
  }
  void close() override { closed = true; }
  void limit_messages(std::size_t bytes) override { limit = bytes; }
  bool idle() const override { return true; }

  void receive(const std::string& text) {
    const Handlers now = handlers;
    now.on_message(text);
  }

  Handlers handlers;
  std::vector<Json> sent;
  std::size_t limit = 0;
  bool closed = false;
};

/// Writes down what happens: "opened file:///a", ...
class Diary : public SessionListener {
 public:
  void initialized(Session& /*session*/) override { add("initialized"); }
  void ended(Session& /*session*/) override { add("ended"); }
  void document_opened(Session& /*session*/, const Document& document) override { add("opened " + document.uri()); }
  void document_changed(Session& /*session*/, const Document& document, std::span<const ByteEdit> edits) override {
    add("changed " + document.uri() + " to " + document.bytes());
    last_edits.assign(edits.begin(), edits.end());
  }
  void document_saved(Session& /*session*/, const Document& document) override { add("saved " + document.uri()); }
  void document_closed(Session& /*session*/, const Document& document) override { add("closed " + document.uri()); }
  void folders_changed(Session& session) override {
    std::string words = "folders";
    for (const auto& folder : session.folders()) {
      words += " " + folder.uri;
    }
    add(words);
  }
  void configuration_changed(Session& session) override { add("settings " + session.settings().dump()); }

  std::vector<std::string> take() { return std::exchange(entries, {}); }

  std::vector<std::string> entries;
  std::vector<ByteEdit> last_edits;

 private:
  void add(std::string entry) { entries.push_back(std::move(entry)); }
};

class FakeClient {
 public:
  FakeClient() {
    spdlog::set_level(spdlog::level::off);
    service.listener = &diary;
    options.watch_process = [this](boost::asio::io_context& /*loop*/, pid_t process, std::function<void()> on_end) {
      watched = process;
      process_ends = std::move(on_end);
      return std::make_shared<int>(0);
    };
  }
  ~FakeClient() {
    if (session != nullptr) {
      session->end("the test is over");
    }
    loop.poll();
  }
  FakeClient(const FakeClient&) = delete;
  FakeClient& operator=(const FakeClient&) = delete;

  /// Connects; initializes too, unless told otherwise.
  void connect() {
    session = std::make_shared<Session>(loop, transport, service, options, [this](int code) { exit_code = code; });
    session->start();
  }
  Json initialize(Json capabilities = Json::object(), const Json& more = Json::object()) {
    connect();
    Json params = {{"processId", nullptr}, {"rootUri", nullptr}, {"capabilities", std::move(capabilities)}};
    params.update(more);
    const Json answer = ask("initialize", params);
    tell("initialized", Json::object());
    return answer.at("result");
  }

  void say(const Json& message) { transport->receive(message.dump()); }
  void tell(const std::string& method, Json params = {}) {
    Json message = {{"jsonrpc", "2.0"}, {"method", method}};
    if (!params.is_null()) {
      message["params"] = std::move(params);
    }
    say(message);
  }
  /// A request that waits; its id.
  int begin(const std::string& method, Json params = {}) {
    Json message = {{"jsonrpc", "2.0"}, {"id", ++last_id}, {"method", method}};
    if (!params.is_null()) {
      message["params"] = std::move(params);
    }
    say(message);
    return last_id;
  }
  /// A request that is answered at once; the whole answer.
  Json ask(const std::string& method, Json params = {}) {
    const int id = begin(method, std::move(params));
    return answer_to(id).value_or(Json());
  }
  int error_of(const std::string& method, Json params = {}) {
    const Json answer = ask(method, std::move(params));
    return answer.is_object() && answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
  }
  /// The answer to a request, once: it is taken out of what was sent.
  std::optional<Json> answer_to(int id) {
    for (auto message = transport->sent.begin(); message != transport->sent.end(); ++message) {
      if (!message->contains("method") && (*message)["id"] == id) {
        Json answer = std::move(*message);
        transport->sent.erase(message);
        return answer;
      }
    }
    return std::nullopt;
  }
  /// The first message of this method, taken out of what was sent.
  std::optional<Json> sent(const std::string& method) {
    for (auto message = transport->sent.begin(); message != transport->sent.end(); ++message) {
      if (message->value("method", "") == method) {
        Json found = std::move(*message);
        transport->sent.erase(message);
        return found;
      }
    }
    return std::nullopt;
  }
  void answer(const Json& request, Json result) {
    say({{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", std::move(result)}});
  }
  void refuse(const Json& request) {
    say({{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"error", {{"code", -1}, {"message", "no"}}}});
  }
  void open(const std::string& uri, const std::string& text) {
    tell("textDocument/didOpen",
         {{"textDocument", {{"uri", uri}, {"languageId", "python"}, {"version", 1}, {"text", text}}}});
  }

  boost::asio::io_context loop;
  std::shared_ptr<FakeTransport> transport = std::make_shared<FakeTransport>();
  Diary diary;
  Service service;
  SessionOptions options;
  std::shared_ptr<Session> session;
  std::optional<int> exit_code;
  pid_t watched = 0;
  std::function<void()> process_ends;
  int last_id = 0;
};

}  // namespace ridgeline::lsp::testing
