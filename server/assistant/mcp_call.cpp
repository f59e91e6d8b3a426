#include "assistant/mcp_call.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <variant>

#include "assistant/answer_text.h"
#include "assistant/mcp_messages.h"
#include "base/path.h"
#include "lsp/session/uri.h"
#include "worker/process.h"
#include "worker/program.h"

namespace ridgeline::assistant {

namespace asio = boost::asio;
using protocol::ResponseError;

namespace {

constexpr worker::ProgramLimits kProgramLimits{std::chrono::minutes(30), std::size_t{1} << 20U};

}  // namespace

McpServer::Call::Call(McpServer& server, protocol::RequestId call_id, Client of_client, const Tool& called, Json given)
    : server_(server),
      alive_(server.lifetime_.watch()),
      id(std::move(call_id)),
      client(std::move(of_client)),
      tool(called),
      arguments(std::move(given)) {}

base::Task<Json> McpServer::Call::ask(std::string method, Json params) {
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

std::string McpServer::Call::open(const std::string& path) {
  entry_ = path;
  auto uri = server_.session_->open(path);
  if (!uri) {
    throw ToolFailure{"Error: " + in_quotes(uri.error().message(), 400)};
  }
  return *uri;
}

std::string McpServer::Call::path_of(const std::string& name) const { return server_.path_of(name); }

std::string McpServer::Call::uri_of(const std::string& path) const { return server_.session_->uri_of(path); }

std::string McpServer::Call::relative(const std::string& path_or_uri) const {
  const std::string path = lsp::path_of_uri(path_or_uri).value_or(path_or_uri);
  return std::string(base::relative_to(path, folder()).value_or(path));
}

const std::string& McpServer::Call::folder() const { return server_.options_.folder; }

bool McpServer::Call::may_edit() const { return server_.options_.allow_edits; }

base::Task<bool> McpServer::Call::allowed(std::string question) {
  const auto begin = [this, question = std::move(question)](std::function<void(bool)> done) {
    server_.ask_person(shared_from_this(), question, std::move(done));
  };
  auto answer = base::callback<bool>(begin);
  const bool allows = co_await std::move(answer);
  go_on();
  co_return allows;
}

base::Task<void> McpServer::Call::pause() {
  asio::steady_timer timer(server_.loop_, std::chrono::milliseconds(50));
  auto waiting = timer.async_wait(asio::use_awaitable);
  co_await std::move(waiting);
  go_on();
}

base::Task<std::pair<int, std::string>> McpServer::Call::run_program(std::vector<std::string> program_arguments) {
  std::vector<std::string> command = {server_.options_.program};
  std::ranges::move(program_arguments, std::back_inserter(command));
  if (!server_.options_.python.empty()) {
    command.insert(command.end(), {"--python", server_.options_.python});
  }
  auto running = worker::run_program(server_.loop_, std::move(command), folder(), kProgramLimits,
                                     [this](pid_t process) { program_ = process; });
  auto ended = co_await std::move(running);
  go_on();
  program_ = 0;
  if (!ended) {
    throw ToolFailure{"Error: " + in_quotes(ended.error().message())};
  }
  co_return std::pair(ended->exit_code, std::move(ended->output));
}

void McpServer::Call::cancel() {
  is_cancelled = true;
  for (const std::int64_t request : requests_) {
    server_.session_->cancel(request);
  }
  if (program_ > 0) {
    worker::signal_group(program_, SIGKILL);
  }
  if (auto answer = std::exchange(answer_person, {})) {
    answer(false);
  }
}

std::string McpServer::Call::allow_command() const {
  return "ridgeline mcp --allow " + (entry_.empty() ? "ENTRY" : relative(entry_));
}

void McpServer::Call::go_on() const {
  if (alive_.expired() || server_.stopped_) {
    throw base::OwnerGone();
  }
}

}  // namespace ridgeline::assistant
