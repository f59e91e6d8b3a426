// How calls of tools run, one at a time where they run code, and how the person is asked.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "assistant/answer_text.h"
#include "assistant/mcp_call.h"
#include "assistant/mcp_messages.h"
#include "assistant/mcp_server.h"
#include "base/path.h"
#include "base/random_digits.h"
#include "protocol/json_fields.h"

namespace ridgeline::assistant {

namespace asio = boost::asio;
namespace error_code = protocol::error_code;
using protocol::Request;
using protocol::ResponseError;

namespace {

constexpr std::size_t kMostCalls = 32;     ///< unanswered
constexpr std::size_t kMostWaiting = 8;    ///< of those, that wait for their turn to run code
constexpr std::size_t kMostSuspended = 8;  ///< that wait for the person
constexpr std::size_t kMostPages = 64;     ///< that `more` can continue
constexpr std::size_t kMostProfiles = 32;  ///< that are resources
constexpr std::chrono::minutes kAnswerTime{10};

/// Nobody can guess it. Throws where the system gives no random bytes.
std::string random_name() {
  auto digits = base::random_digits(16);
  if (!digits) {
    throw std::runtime_error(digits.error().message());
  }
  return std::move(*digits);
}

}  // namespace

std::string McpServer::path_of(const std::string& name) const {
  std::error_code problem;
  const std::filesystem::path whole = std::filesystem::path(options_.folder) / name;  // an absolute name stays
  std::string path = std::filesystem::weakly_canonical(whole, problem).string();
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
