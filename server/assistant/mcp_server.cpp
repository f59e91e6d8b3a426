#include "assistant/mcp_server.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "assistant/answer_text.h"
#include "assistant/mcp_messages.h"
#include "assistant/mcp_texts.h"
#include "base/path.h"
#include "base/random_digits.h"
#include "lsp/session/uri.h"
#include "protocol/json_fields.h"
#include "worker/process.h"

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
constexpr std::size_t kMostCalls = 32;     ///< unanswered
constexpr std::size_t kMostWaiting = 8;    ///< of those, that wait for their turn to run code
constexpr std::size_t kMostSuspended = 8;  ///< that wait for the person
constexpr std::size_t kMostPages = 64;     ///< that `more` can continue
constexpr std::size_t kMostProfiles = 32;  ///< that are resources
constexpr std::chrono::minutes kAnswerTime{10};
constexpr std::chrono::minutes kProgramTime{30};
constexpr std::size_t kMostProgramBytes = std::size_t{1} << 20U;

/// Nobody can guess it. Throws where the system gives no random bytes.
std::string random_name() {
  auto digits = base::random_digits(16);
  if (!digits) {
    throw std::runtime_error(digits.error().message());
  }
  return std::move(*digits);
}

}  // namespace

// ---- a call of a tool

class McpServer::Call : public ToolContext, public std::enable_shared_from_this<Call> {
 public:
  Call(McpServer& server, RequestId call_id, Client of_client, const Tool& called, Json given)
      : server_(server),
        id(std::move(call_id)),
        client(std::move(of_client)),
        tool(called),
        arguments(std::move(given)) {}

  base::Task<Json> ask(std::string method, Json params) override {
    if (tool.runs_code) {
      params["workDoneToken"] = token;
    }
    auto asking = server_.session_->request(std::move(method), std::move(params),
                                            [this](std::int64_t request) { requests_.insert(request); });
    lsp::Outcome outcome = co_await std::move(asking);
    go_on();
    if (const auto* error = std::get_if<ResponseError>(&outcome)) {
      throw ToolFailure{was_refused_ ? "Not run: the person has not allowed this code to run, and you cannot. They can "
                                       "allow it in a terminal: " +
                                           allow_command() + "\n"
                                     : failure_text(*error)};
    }
    co_return std::get<Json>(std::move(outcome));
  }
  std::string open(const std::string& path) override {
    entry_ = path;
    auto uri = server_.session_->open(path);
    if (!uri) {
      throw ToolFailure{"Error: " + in_quotes(uri.error().message(), 400)};
    }
    return *uri;
  }
  std::string path_of(const std::string& name) const override { return server_.path_of(name); }
  std::string uri_of(const std::string& path) const override { return server_.session_->uri_of(path); }
  std::string relative(const std::string& path_or_uri) const override {
    const std::string path = lsp::path_of_uri(path_or_uri).value_or(path_or_uri);
    return std::string(base::relative_to(path, folder()).value_or(path));
  }
  const std::string& folder() const override { return server_.options_.folder; }
  bool may_edit() const override { return server_.options_.allow_edits; }
  base::Task<bool> allowed(std::string question) override {
    const auto begin = [this, question = std::move(question)](std::function<void(bool)> done) {
      server_.ask_person(shared_from_this(), question, std::move(done));
    };
    auto answer = base::callback<bool>(begin);
    const bool allows = co_await std::move(answer);
    go_on();
    co_return allows;
  }
  base::Task<void> pause() override {
    asio::steady_timer timer(server_.loop_, std::chrono::milliseconds(50));
    auto waiting = timer.async_wait(asio::use_awaitable);
    co_await std::move(waiting);
    go_on();
  }
  base::Task<std::pair<int, std::string>> run_program(std::vector<std::string> program_arguments) override;

  void cancel() {
    is_cancelled = true;
    for (const std::int64_t request : requests_) {
      server_.session_->cancel(request);
    }
    if (program_ > 0) {
      ::kill(-program_, SIGKILL);
    }
    if (auto answer = std::exchange(answer_person, {})) {
      answer(false);
    }
  }
  void refuse() { was_refused_ = true; }
  std::string allow_command() const { return "ridgeline mcp --allow " + (entry_.empty() ? "ENTRY" : relative(entry_)); }

 private:
  /// After each wait: the call ends here when the server has gone.
  void go_on() const {
    if (alive_.expired() || server_.stopped_) {
      throw base::OwnerGone();
    }
  }

  McpServer& server_;
  std::weak_ptr<const void> alive_ = server_.lifetime_.watch();
  std::set<std::int64_t> requests_;
  std::string entry_;
  bool was_refused_ = false;
  pid_t program_ = 0;

 public:
  RequestId id;
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

base::Task<std::pair<int, std::string>> McpServer::Call::run_program(std::vector<std::string> program_arguments) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw ToolFailure{"Error: no pipe could be made."};
  }
  worker::Descriptor theirs(pipe[1]);
  asio::posix::stream_descriptor output(server_.loop_, pipe[0]);
  worker::SpawnOptions spawn;
  spawn.arguments = {server_.options_.program};
  std::ranges::move(program_arguments, std::back_inserter(spawn.arguments));
  if (!server_.options_.python.empty()) {
    spawn.arguments.insert(spawn.arguments.end(), {"--python", server_.options_.python});
  }
  spawn.folder = folder();
  spawn.descriptors = {{theirs.get(), 1}, {theirs.get(), 2}};
  const auto started = worker::spawn(spawn);
  theirs.reset();
  if (!started) {
    throw ToolFailure{"Error: " + in_quotes(started.error().message())};
  }
  program_ = *started;
  asio::steady_timer limit(server_.loop_, kProgramTime);
  limit.async_wait([process = *started](const auto& problem) {
    if (!problem) {
      ::kill(-process, SIGKILL);
    }
  });
  std::string text;
  std::array<char, 8192> chunk{};
  boost::system::error_code problem;
  while (!problem) {
    auto reading = output.async_read_some(asio::buffer(chunk), asio::redirect_error(asio::use_awaitable, problem));
    const std::size_t bytes = co_await std::move(reading);
    go_on();
    text.append(chunk.data(), std::min(bytes, kMostProgramBytes - std::min(kMostProgramBytes, text.size())));
  }
  int status = 0;
  while (::waitpid(*started, &status, WNOHANG) == 0) {
    auto waiting = pause();
    co_await std::move(waiting);
  }
  program_ = 0;
  co_return std::pair(WIFEXITED(status) ? WEXITSTATUS(status) : 128, text);
}

// ---- the connection

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
  const auto cacheable_for = [&](int ms, const char* scope, Json result) -> Reply {
    if (client.is_modern) {
      result["ttlMs"] = ms;
      result["cacheScope"] = scope;
    }
    return result;
  };
  const auto cacheable = [&](Json result) { return cacheable_for(3'600'000, "public", std::move(result)); };
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
    return cacheable_for(0, "private", {{"resources", resources(profiles_)}});
  }
  if (request.method == "resources/templates/list") {
    return cacheable({{"resourceTemplates", Json::array()}});
  }
  if (request.method == "resources/read") {
    const auto uri = protocol::member<std::string>(params, "uri");
    const auto found = resource(uri, profiles_);
    if (!found.has_value()) {
      return ResponseError{client.is_modern ? error_code::kInvalidParams : error_code::kServerNotInitialized,
                           "there is no resource " + in_quotes(uri),
                           {{"uri", uri}}};  // -32002: not found, before 2026
    }
    return cacheable_for(3'600'000, "private",
                         {{"contents", {{{"uri", uri}, {"mimeType", found->second}, {"text", found->first}}}}});
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
              {"ttlMs", 3'600'000},
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

// ---- calls

std::string McpServer::path_of(const std::string& name) const {
  std::error_code problem;
  const std::filesystem::path whole = std::filesystem::path(options_.folder) / name;  // an absolute name stays
  const std::string path = std::filesystem::weakly_canonical(whole, problem).string();
  if (problem || name.find('\0') != std::string::npos ||
      (path != options_.folder && !base::is_below(path, options_.folder))) {
    throw ToolFailure{"Error: " + in_quotes(name) + " is not in the project " + in_quotes(options_.folder) +
                      ". Name files relative to it; another project needs a server of its own."};
  }
  return path;
}

std::optional<McpServer::Reply> McpServer::call_tool(const Request& request, const Client& client) {
  const auto name = protocol::member<std::string>(request.params, "name");
  Json arguments = request.params.value("arguments", Json::object());
  if (arguments.is_null()) {
    arguments = Json::object();
  }
  if (!arguments.is_object()) {
    return ResponseError{error_code::kInvalidParams, "arguments: not an object", {}};
  }
  std::erase_if(arguments.get_ref<Json::object_t&>(), [](const auto& one) { return one.second.is_null(); });
  const auto failed = [](const std::string& text) {
    return Reply(Json{{"content", {{{"type", "text"}, {"text", text}}}}, {"isError", true}});
  };
  if (name == "more") {
    if (const std::string problem = argument_problem(Json::parse(kMoreInput), arguments); !problem.empty()) {
      return failed(problem);
    }
    const auto page =
        std::ranges::find(pages_, arguments["cursor"].get<std::string>(), [](const auto& one) { return one.first; });
    return page == pages_.end() ? failed("There is no such cursor any more: call the tool again.")
                                : Reply(paged(std::string(page->second)));
  }
  const auto tool = std::ranges::find_if(tools(), [&](const Tool& one) { return name == one.name; });
  if (tool == tools().end()) {
    return ResponseError{error_code::kInvalidParams, "there is no tool " + in_quotes(name, 60), {}};
  }
  if (const std::string problem = argument_problem(Json::parse(tool->input), arguments); !problem.empty()) {
    return failed(problem);
  }
  const auto state = protocol::optional_member<std::string>(request.params, "requestState");
  if (state.has_value() && resume(request, client, *state)) {
    return std::nullopt;
  }
  if (tool->runs_code && !state.has_value() && running_ != nullptr && running_->is_suspended) {
    give_up(*running_);
  }
  if (calls_.size() >= kMostCalls || (tool->runs_code && waiting_.size() >= kMostWaiting)) {
    return failed("Too many calls wait already. One at a time runs code: wait for the answers.");
  }
  auto call = std::make_shared<Call>(*this, request.id, client, *tool, std::move(arguments));
  call->token = fmt::format("call-{}", ++last_token_);
  call->progress_token = progress_token_of(request);
  calls_[request.id] = call;
  if (tool->runs_code) {
    waiting_.push_back(call);
    start_waiting();
  } else {
    run(call);
  }
  return std::nullopt;
}

/// The next attempt of a call that was answered with a question: it goes on, if the person's answer is there.
bool McpServer::resume(const Request& request, const Client& client, const std::string& state) {
  const auto found = suspended_.find(state);
  if (found == suspended_.end() || found->second->tool.name != protocol::member<std::string>(request.params, "name") ||
      found->second->arguments != request.params.value("arguments", Json::object())) {
    return false;  // asked anew
  }
  const auto call = found->second;
  suspended_.erase(found);
  call->id = request.id;
  call->client = client;
  call->progress_token = progress_token_of(request);
  call->is_suspended = false;
  calls_[request.id] = call;
  const Json responses = request.params.value("inputResponses", Json::object());
  const bool allows = responses.is_object() && responses.contains("consent") && is_consent(responses["consent"]);
  if (auto answered = std::exchange(call->answer_person, {})) {
    answered(allows);
  }
  return true;
}

/// A call that waits for the person, and whose next attempt may never come: as if the person had said no.
void McpServer::give_up(Call& call) {
  std::erase_if(suspended_, [&](const auto& one) { return one.second.get() == &call; });
  if (auto answered = std::exchange(call.answer_person, {})) {
    answered(false);
  }
}

void McpServer::start_waiting() {
  while (running_ == nullptr && !waiting_.empty() && !stopped_) {
    running_ = waiting_.front();
    waiting_.pop_front();
    if (running_->is_cancelled) {
      running_.reset();
    } else {
      run(running_);
    }
  }
}

void McpServer::run(const std::shared_ptr<Call>& call) {
  if (session_ == nullptr) {
    ClientListener& listener = *this;
    session_ =
        std::make_unique<SessionClient>(loop_, service_, options_.folder, Json{{"python", options_.python}}, listener);
  }
  base::start(loop_, run_tool(call));
}

base::Task<void> McpServer::run_tool(std::shared_ptr<Call> call) {
  const auto alive = lifetime_.watch();
  ToolAnswer answer;
  try {
    auto running = call->tool.run(*call, call->arguments);
    answer = co_await std::move(running);
  } catch (const ToolFailure& failure) {
    answer = {failure.text, {}, true};
  } catch (const std::exception& problem) {
    answer = {"Error: the answer could not be made: " + in_quotes(problem.what()), {}, true};
  }
  if (!alive.expired() && !stopped_) {
    finish(call, answer);
  }
}

void McpServer::finish(const std::shared_ptr<Call>& call, const ToolAnswer& answered) {
  if (running_ == call) {
    running_.reset();
  }
  const auto found = calls_.find(call->id);
  if (found != calls_.end() && found->second == call) {
    calls_.erase(found);
    Json result = paged(answered.text);
    if (answered.is_error) {
      result["isError"] = true;
    } else if (!answered.structured.is_null()) {
      result["structuredContent"] = answered.structured;
      keep(*call, answered);
    }
    answer(call->id, call->client, std::move(result));
  }
  start_waiting();
}

/// Profiles are resources from then on.
void McpServer::keep(const Call& call, const ToolAnswer& answered) {
  const std::string_view tool = call.tool.name;
  if (tool != "profile" && tool != "run_script") {
    return;
  }
  const auto id = answered.structured.at("profileId").get<std::string>();
  std::erase_if(profiles_, [&](const KeptAnswer& one) { return one.profile_id == id; });
  profiles_.push_front({id, answered.structured.at("file").get<std::string>(), answered.text});
  if (profiles_.size() > kMostProfiles) {
    profiles_.pop_back();
  }
}

/// A result with the first page of a text; `more` has the rest.
Json McpServer::paged(const std::string& text) {
  std::string page = text;
  if (text.size() > kMostCharacters) {
    std::size_t end = text.rfind('\n', kMostCharacters);
    end = end == std::string::npos ? kMostCharacters : end + 1;
    const std::string cursor = random_name().substr(0, 12);
    pages_.emplace_back(cursor, text.substr(end));
    if (pages_.size() > kMostPages) {
      pages_.pop_front();
    }
    page = text.substr(0, end) + "More: call more with cursor " + cursor + ".\n";
  }
  return {{"content", {{{"type", "text"}, {"text", std::move(page)}}}}, {"isError", false}};
}

// ---- the person

void McpServer::ask_person(const std::shared_ptr<Call>& call, std::string question,
                           std::function<void(bool)> answered) {
  const auto refuse = [&] {
    call->refuse();
    answered(false);
  };
  if (!call->client.can_ask || call->is_cancelled || call->answer_person ||
      (call->client.is_modern && suspended_.size() >= kMostSuspended)) {
    refuse();
    return;
  }
  Json params = {
      {"message", std::move(question)},
      {"requestedSchema",
       {{"type", "object"},
        {"properties",
         {{"allow", {{"type", "boolean"}, {"title", "Allow"}, {"description", "Allow this"}, {"default", false}}}}},
        {"required", {"allow"}}}}};
  auto timer = std::make_shared<asio::steady_timer>(loop_, kAnswerTime);
  const auto once = [weak = std::weak_ptr(call), answered = std::move(answered), timer](bool allows) {
    timer->cancel();
    if (const auto asking = weak.lock(); asking != nullptr && !allows) {
      asking->refuse();
    }
    answered(allows);
  };
  timer->async_wait(lifetime_.guard([this, weak = std::weak_ptr(call)](const auto& problem) {
    const auto waiting = weak.lock();
    if (problem || waiting == nullptr) {
      return;
    }
    give_up(*waiting);
  }));
  call->answer_person = once;
  if (!call->client.is_modern) {
    const std::int64_t id = ++last_id_;
    elicited_[id] = lifetime_.guard([weak = std::weak_ptr(call)](bool allows) {
      if (const auto asking = weak.lock(); asking != nullptr) {
        if (auto answer_now = std::exchange(asking->answer_person, {})) {
          answer_now(allows);
        }
      }
    });
    transport_->send(protocol::encode(Request{id, "elicitation/create", std::move(params)}));
    return;
  }
  params["mode"] = "form";
  const std::string state = random_name();
  suspended_[state] = call;
  call->is_suspended = true;
  calls_.erase(call->id);
  answer(call->id, call->client,
         Json{{"resultType", "input_required"},
              {"inputRequests", {{"consent", {{"method", "elicitation/create"}, {"params", std::move(params)}}}}},
              {"requestState", state}});
}

void McpServer::asked(const std::string& question, const std::vector<std::string>& choices,
                      std::function<void(std::optional<std::string>)> answer_server) {
  if (running_ == nullptr || choices.empty()) {
    answer_server(std::nullopt);
    return;
  }
  ask_person(running_, question, [answer_server = std::move(answer_server), yes = choices.front()](bool allows) {
    answer_server(allows ? std::optional(yes) : std::nullopt);
  });
}

void McpServer::progressed(const std::string& token, const std::string& message, std::optional<int> percentage) {
  const auto of_token = std::ranges::find_if(calls_, [&](const auto& one) { return one.second->token == token; });
  const std::shared_ptr<Call> call = of_token == calls_.end() ? running_ : of_token->second;
  if (call == nullptr || call->is_suspended || call->is_cancelled || !call->progress_token.has_value() ||
      message.empty()) {
    return;
  }
  call->progress = std::max(call->progress + 0.001, static_cast<double>(percentage.value_or(0)));
  notify(
      "notifications/progress",
      {{"progressToken", *call->progress_token}, {"progress", call->progress}, {"total", 100}, {"message", message}});
}

void McpServer::logged(protocol::MessageType type, const std::string& text) {
  const char* level = level_of(type);
  const auto wants = [&](const Client& client) {
    return client.log_level.has_value() && severity(level) >= severity(*client.log_level);
  };
  const bool of_call = running_ != nullptr && running_->client.is_modern && !running_->is_suspended;
  if (of_call ? wants(running_->client) : legacy_.has_value() && wants(*legacy_)) {
    notify("notifications/message", {{"level", level}, {"logger", "ridgeline"}, {"data", in_quotes(text, 2000)}});
  }
}

}  // namespace ridgeline::assistant
