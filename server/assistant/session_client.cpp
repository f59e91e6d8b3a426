#include "assistant/session_client.h"

#include <filesystem>
#include <utility>
#include <variant>

#include "base/file.h"
#include "lsp/session/uri.h"
#include "lsp/transport/local_pair.h"
#include "protocol/json_fields.h"

namespace ridgeline::assistant {

using protocol::Notification;
using protocol::Request;
using protocol::Response;

namespace {

Json capabilities() {
  return {{"general", {{"positionEncodings", {"utf-8"}}}},
          {"window", {{"workDoneProgress", true}, {"showDocument", {{"support", true}}}}},
          {"workspace", {{"configuration", true}, {"workspaceFolders", true}}},
          {"textDocument", {{"hover", {{"contentFormat", {"plaintext"}}}}}}};
}

}  // namespace

SessionClient::SessionClient(boost::asio::io_context& loop, const lsp::Service& service, std::string folder,
                             Json settings, ClientListener& listener)
    : listener_(listener), settings_(std::move(settings)) {
  auto [ours, theirs] = lsp::make_local_pair(loop);
  transport_ = std::move(ours);
  session_ = std::make_shared<lsp::Session>(loop, std::move(theirs), service, lsp::SessionOptions{}, [](int) {});
  session_->start();
  transport_->start({[this](const std::string& message) { receive(message); }, [](const std::string&) {}});
  pending_[++last_id_] = [this](const lsp::Outcome&) {
    send(Notification{"initialized", Json::object()});
    ready_ = true;
    for (protocol::Message& message : std::exchange(waiting_, {})) {
      send(message);
    }
  };
  const std::string name = std::filesystem::path(folder).filename().string();
  send(Request{last_id_,
               "initialize",
               {{"processId", nullptr},
                {"clientInfo", {{"name", "ridgeline mcp"}}},
                {"rootUri", uri_of(folder)},
                {"workspaceFolders", {{{"uri", uri_of(folder)}, {"name", name}}}},
                {"capabilities", capabilities()}}});
}

SessionClient::~SessionClient() { end(); }

void SessionClient::end() {
  if (session_ != nullptr) {
    transport_->close();
    session_->end("the assistant's client has ended");
    session_.reset();
    pending_.clear();
  }
}

std::string SessionClient::uri_of(const std::string& path) const { return lsp::uri_of_path(path); }

base::Task<lsp::Outcome> SessionClient::request(std::string method, Json params,
                                                std::function<void(std::int64_t)> began) {
  const auto begin = [&](std::function<void(lsp::Outcome)> done) {
    const std::int64_t id = ++last_id_;
    pending_[id] = std::move(done);
    if (began) {
      began(id);
    }
    send_when_ready(Request{id, std::move(method), std::move(params)});
  };
  auto answer = base::callback<lsp::Outcome>(begin);
  co_return co_await std::move(answer);
}

void SessionClient::cancel(std::int64_t id) { send_when_ready(Notification{"$/cancelRequest", {{"id", id}}}); }

base::Result<std::string> SessionClient::open(const std::string& path) {
  auto read = base::read_text(path, kMostFileBytes);
  if (!read) {
    return read.error();
  }
  std::string text = std::move(*read);
  const std::string uri = uri_of(path);
  const auto found = open_.find(path);
  if (found == open_.end()) {
    open_[path] = {1, text};
    send_when_ready(Notification{
        "textDocument/didOpen",
        {{"textDocument", {{"uri", uri}, {"languageId", "python"}, {"version", 1}, {"text", std::move(text)}}}}});
  } else if (found->second.second != text) {
    const int version = ++found->second.first;
    found->second.second = text;
    send_when_ready(Notification{
        "textDocument/didChange",
        {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", {{{"text", std::move(text)}}}}}});
  }
  return uri;
}

void SessionClient::send(const protocol::Message& message) { transport_->send(protocol::encode(message)); }

void SessionClient::send_when_ready(protocol::Message message) {
  if (ready_) {
    send(message);
  } else {
    waiting_.push_back(std::move(message));
  }
}

void SessionClient::receive(const std::string& text) {
  auto parsed = protocol::parse_message(text);
  auto* message = std::get_if<protocol::Message>(&parsed);
  if (message == nullptr) {
    return;
  }
  if (const auto* request = std::get_if<Request>(message)) {
    answer(*request);
  } else if (const auto* notification = std::get_if<Notification>(message)) {
    told(*notification);
  } else if (auto* response = std::get_if<Response>(message); response != nullptr && response->id.has_value()) {
    const auto* id = std::get_if<std::int64_t>(&*response->id);
    const auto found = id == nullptr ? pending_.end() : pending_.find(*id);
    if (found != pending_.end()) {
      const auto done = std::move(found->second);
      pending_.erase(found);
      done(std::move(response->outcome));
    }
  }
}

void SessionClient::answer(const Request& request) {
  const auto reply = [this, id = request.id](Json result) { send(Response{id, std::move(result)}); };
  if (request.method == "window/showMessageRequest") {
    std::vector<std::string> choices;
    for (const Json& action : protocol::member<std::vector<Json>>(request.params, "actions")) {
      choices.push_back(protocol::member<std::string>(action, "title"));
    }
    listener_.asked(protocol::member<std::string>(request.params, "message"), choices,
                    [this, reply](const std::optional<std::string>& chosen) {
                      if (session_ != nullptr) {
                        reply(chosen.has_value() ? Json{{"title", *chosen}} : Json());
                      }
                    });
  } else if (request.method == "workspace/configuration") {
    reply(Json::array({settings_}));
  } else if (request.method == "window/showDocument") {
    reply({{"success", true}});
  } else if (request.method == "workspace/applyEdit") {
    reply({{"applied", false}, {"failureReason", "Files are only written by the tool change_edit."}});
  } else {
    reply(nullptr);
  }
}

void SessionClient::told(const Notification& notification) {
  const Json& params = notification.params;
  if (notification.method == "$/progress") {
    const auto token = params.find("token");
    const auto value = params.find("value");
    if (token != params.end() && value != params.end()) {
      listener_.progressed(token->is_string() ? token->get<std::string>() : token->dump(),
                           protocol::optional_member<std::string>(*value, "message").value_or(""),
                           protocol::optional_member<int>(*value, "percentage"));
    }
  } else if (notification.method == "window/logMessage" || notification.method == "window/showMessage") {
    listener_.logged(static_cast<protocol::MessageType>(protocol::member<int>(params, "type")),
                     protocol::member<std::string>(params, "message"));
  } else if (notification.method == "ridgeline/output") {
    listener_.logged(protocol::MessageType::kLog, protocol::member<std::string>(params, "text"));
  }
}

}  // namespace ridgeline::assistant
