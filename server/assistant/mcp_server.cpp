#include "assistant/mcp_server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "assistant/answer_text.h"
#include "assistant/kept_resources.h"
#include "assistant/mcp_call.h"
#include "assistant/mcp_messages.h"
#include "assistant/mcp_texts.h"
#include "protocol/json_fields.h"

namespace ridgeline::assistant {

namespace asio = boost::asio;
namespace error_code = protocol::error_code;
using protocol::Notification;
using protocol::Request;
using protocol::RequestId;
using protocol::Response;
using protocol::ResponseError;

namespace {

constexpr std::size_t kMostMessageBytes = std::size_t{1} << 20U;
constexpr int kLongMs = 3'600'000;  ///< for which what does not change may be kept

}  // namespace

McpServer::McpServer(asio::io_context& loop, std::shared_ptr<lsp::Transport> transport, const lsp::Service& service,
                     McpOptions options, base::Callback on_end)
    : loop_(loop),
      transport_(std::move(transport)),
      options_(std::move(options)),
      on_end_(std::move(on_end)),
      service_(service) {}

McpServer::~McpServer() { stop(); }

void McpServer::start() {
  transport_->limit_messages(kMostMessageBytes);
  transport_->start({lifetime_.guard([this](const std::string& message) { receive(message); }),
                     lifetime_.guard([this](const std::string& reason) {
                       spdlog::debug("the client has ended: {}", reason);
                       stop();
                       if (const auto ended = std::exchange(on_end_, {})) {
                         ended();
                       }
                     })});
}

void McpServer::stop() {
  if (std::exchange(stopped_, true)) {
    return;
  }
  for (const auto& [id, call] : std::exchange(calls_, {})) {
    call->cancel();
  }
  for (const auto& [state, call] : std::exchange(suspended_, {})) {
    call->cancel();
  }
  waiting_.clear();
  if (session_ != nullptr) {
    session_->end();
  }
  transport_->close();
}

void McpServer::receive(const std::string& text) {
  auto parsed = protocol::parse_message(text);
  if (const auto* malformed = std::get_if<protocol::Malformed>(&parsed)) {
    if (!malformed->is_response) {
      transport_->send(protocol::encode(Response{malformed->id, malformed->error}));
    }
    return;
  }
  try {
    std::visit([this](auto& message) { handle(message); }, std::get<protocol::Message>(parsed));
  } catch (const std::exception& problem) {
    spdlog::warn("a message of the client was not understood: {}", problem.what());
  }
}

void McpServer::answer(const RequestId& id, const Client& client, Reply reply) {
  if (auto* result = std::get_if<Json>(&reply); result != nullptr && client.is_modern) {
    if (!result->contains("resultType")) {
      (*result)["resultType"] = "complete";
    }
    (*result)["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info();
  }
  transport_->send(protocol::encode(Response{id, std::move(reply)}));
}

void McpServer::notify(const char* method, Json params) {
  transport_->send(protocol::encode(Notification{method, std::move(params)}));
}

std::variant<McpServer::Client, ResponseError> McpServer::client_of(const Request& request) const {
  const Json meta = request.params.is_object() ? request.params.value("_meta", Json::object()) : Json::object();
  if (meta.is_object() && meta.contains(kMetaVersion)) {
    const auto version = protocol::member<std::string>(meta, kMetaVersion);
    if (version != kModernVersion) {
      return ResponseError{kUnsupportedVersion,
                           "Unsupported protocol version",
                           {{"supported", supported_versions()}, {"requested", version}}};
    }
    Client client;
    client.is_modern = true;
    client.version = version;
    client.can_ask = can_ask(protocol::member<Json::object_t>(meta, kMetaCapabilities));
    client.log_level = protocol::optional_member<std::string>(meta, kMetaLogLevel);
    return client;
  }
  if (legacy_.has_value()) {
    return *legacy_;
  }
  if (request.method == "initialize" || request.method == "ping") {
    return Client{};
  }
  return ResponseError{error_code::kInvalidRequest,
                       std::string("the first request is initialize, or requests have _meta with ") + kMetaVersion,
                       {}};
}

void McpServer::handle(const Request& request) {
  const auto refuse = [&](int code, const std::string& message) {
    transport_->send(protocol::encode(Response{request.id, ResponseError{code, message, {}}}));
  };
  if (calls_.contains(request.id)) {
    refuse(error_code::kInvalidRequest, "the id is in use");
    return;
  }
  try {
    auto client = client_of(request);
    if (auto* error = std::get_if<ResponseError>(&client)) {
      transport_->send(protocol::encode(Response{request.id, std::move(*error)}));
      return;
    }
    if (auto reply = reply_to(request, std::get<Client>(client))) {
      answer(request.id, std::get<Client>(client), std::move(*reply));
    }
  } catch (const protocol::InvalidValue& problem) {
    refuse(error_code::kInvalidParams, problem.what());
  } catch (const Json::exception& problem) {
    refuse(error_code::kInvalidParams, protocol::message_of(problem));
  }
}

std::optional<McpServer::Reply> McpServer::reply_to(const Request& request, const Client& client) {
  const Json params = request.params.is_object() ? request.params : Json::object();
  const auto cacheable = [&](Json result) -> Reply {
    return cacheable_for(client, kLongMs, "public", std::move(result));
  };
  if (params.contains("cursor") && request.method.ends_with("/list")) {
    return ResponseError{error_code::kInvalidParams, "cursor: the lists have one page", {}};
  }
  if (request.method == "initialize" && !client.is_modern) {
    return initialize(params);
  }
  if (request.method == "server/discover" && client.is_modern) {
    return discover();
  }
  if (request.method == "ping" && !client.is_modern) {
    return Json::object();
  }
  if (request.method == "logging/setLevel" && !client.is_modern) {
    legacy_->log_level = protocol::member<std::string>(params, "level");
    return Json::object();
  }
  if (request.method == "tools/list") {
    return cacheable({{"tools", tool_list()}});
  }
  if (request.method == "resources/list") {
    base::start(loop_, list_resources(request.id, client));
    return std::nullopt;
  }
  if (request.method == "resources/templates/list") {
    return cacheable({{"resourceTemplates", Json::array()}});
  }
  if (request.method == "resources/read") {
    const auto uri = protocol::member<std::string>(params, "uri");
    if (const auto found = resource(uri, profiles_)) {
      return contents(client, uri, *found);
    }
    base::start(loop_, read_kept(request.id, client, uri));
    return std::nullopt;
  }
  if (request.method == "prompts/list") {
    return cacheable({{"prompts", prompts()}});
  }
  if (request.method == "prompts/get") {
    const Json given = params.value("arguments", Json::object());
    const auto file = given.is_object() ? given.value("file", "entry.py") : "entry.py";
    const auto found = prompt(protocol::member<std::string>(params, "name"), in_quotes(file));
    return found.has_value() ? Reply(*found)
                             : Reply(ResponseError{error_code::kInvalidParams, "there is no such prompt", {}});
  }
  if (request.method == "tools/call") {
    return call_tool(request, client);
  }
  if (request.method == "subscriptions/listen" && client.is_modern) {  // nothing of ours changes
    notify("notifications/subscriptions/acknowledged",
           {{"_meta", {{"io.modelcontextprotocol/subscriptionId", protocol::to_json(request.id)}}},
            {"notifications", Json::object()}});
    return std::nullopt;
  }
  return ResponseError{error_code::kMethodNotFound, "there is no method " + in_quotes(request.method, 60), {}};
}

base::Task<void> McpServer::list_resources(RequestId id, Client client) {
  const auto alive = lifetime_.watch();
  std::vector<std::string> known;
  for (const KeptAnswer& profile : profiles_) {
    known.push_back(profile.profile_id);
  }
  auto reading = base::run_on(files_, [folder = options_.folder, known] { return kept_resources(folder, known); });
  const Json kept = co_await std::move(reading);
  if (alive.expired() || stopped_) {
    co_return;
  }
  Json list = resources(profiles_);
  list.insert(list.end(), kept.begin(), kept.end());
  answer(id, client, cacheable_for(client, 0, "private", {{"resources", std::move(list)}}));
}

base::Task<void> McpServer::read_kept(RequestId id, Client client, std::string uri) {
  const auto alive = lifetime_.watch();
  std::optional<std::string> text;
  if (const auto profile = profile_id_of(uri)) {
    auto reading =
        base::run_on(files_, [folder = options_.folder, profile = *profile] { return kept_resource(folder, profile); });
    text = co_await std::move(reading);
  }
  if (alive.expired() || stopped_) {
    co_return;
  }
  answer(id, client,
         text.has_value() ? contents(client, uri, {*text, "text/plain"})
                          : ResponseError{client.is_modern ? error_code::kInvalidParams
                                                           : error_code::kServerNotInitialized,  // -32002: not found
                                          "there is no resource " + in_quotes(uri),
                                          {{"uri", uri}}});
}

McpServer::Reply McpServer::contents(const Client& client, const std::string& uri,
                                     const std::pair<std::string, std::string>& found) {
  return cacheable_for(client, kLongMs, "private",
                       {{"contents", {{{"uri", uri}, {"mimeType", found.second}, {"text", found.first}}}}});
}

Json McpServer::cacheable_for(const Client& client, int ms, const char* scope, Json result) {
  if (client.is_modern) {
    result["ttlMs"] = ms;
    result["cacheScope"] = scope;
  }
  return result;
}

McpServer::Reply McpServer::initialize(const Json& params) {
  const auto wanted = protocol::member<std::string>(params, "protocolVersion");
  Client client;
  client.version = std::ranges::find(kLegacyVersions, wanted) != kLegacyVersions.end() ? wanted : kLegacyVersions[0];
  client.can_ask = can_ask(params.value("capabilities", Json::object()));
  client.log_level = "info";
  legacy_ = client;
  return Json{{"protocolVersion", client.version},
              {"capabilities", server_capabilities()},
              {"serverInfo", server_info()},
              {"instructions", kInstructions}};
}

McpServer::Reply McpServer::discover() const {
  return Json{{"supportedVersions", supported_versions()},
              {"capabilities", server_capabilities()},
              {"instructions", kInstructions},
              {"ttlMs", kLongMs},
              {"cacheScope", "public"}};
}

void McpServer::handle(const Notification& notification) {
  if (notification.method != "notifications/cancelled") {
    return;
  }
  const auto id = protocol::read_request_id(notification.params.value("requestId", Json()));
  const auto found = id.has_value() ? calls_.find(*id) : calls_.end();
  if (found != calls_.end()) {
    const auto call = found->second;
    calls_.erase(found);
    call->cancel();
  }
}

void McpServer::handle(const Response& response) {
  const auto* id = response.id.has_value() ? std::get_if<std::int64_t>(&*response.id) : nullptr;
  const auto found = id == nullptr ? elicited_.end() : elicited_.find(*id);
  if (found == elicited_.end()) {
    return;
  }
  const auto answered = std::move(found->second);
  elicited_.erase(found);
  const auto* result = std::get_if<Json>(&response.outcome);
  answered(result != nullptr && is_consent(*result));
}

}  // namespace ridgeline::assistant
