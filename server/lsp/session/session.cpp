#include "lsp/session/session.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <limits>

#include "protocol/json_fields.h"

namespace ridgeline::lsp {

namespace asio = boost::asio;
using protocol::Json;

namespace {

std::uint64_t next_session() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

/// The full-text kind of sync is never asked for.
constexpr int kIncremental = 2;

spdlog::level::level_enum level_of(protocol::MessageType type) {
  switch (type) {
    case protocol::MessageType::kError:
      return spdlog::level::err;
    case protocol::MessageType::kWarning:
      return spdlog::level::warn;
    case protocol::MessageType::kInfo:
      return spdlog::level::info;
    default:
      return spdlog::level::debug;
  }
}

PositionEncoding choose_encoding(const std::vector<std::string>& offered) {
  return std::find(offered.begin(), offered.end(), "utf-8") != offered.end() ? PositionEncoding::kUtf8
                                                                             : PositionEncoding::kUtf16;
}

}  // namespace

Session::Session(asio::io_context& loop, std::shared_ptr<Transport> transport, const Service& service,
                 SessionOptions options, OnEnd on_end)
    : loop_(loop),
      transport_(std::move(transport)),
      service_(service),
      options_(std::move(options)),
      on_end_(std::move(on_end)),
      id_(next_session()) {}

Session::~Session() {
  if (state_ != State::kEnded) {
    transport_->close();
  }
}

void Session::start() {
  transport_->start({[weak = weak_from_this()](const std::string& text) {
                       if (const auto self = weak.lock()) {
                         self->receive(text);
                       }
                     },
                     [weak = weak_from_this()](const std::string& reason) {
                       if (const auto self = weak.lock()) {
                         self->end(reason.empty() ? "the input has ended" : reason);
                       }
                     }});
}

void Session::end(std::string_view reason) {
  if (state_ == State::kEnded) {
    return;
  }
  const auto self = shared_from_this();  // the owner may let go of us
  spdlog::debug("session {} ends: {}", id_, reason);
  const int exit_code = state_ == State::kShutDown ? 0 : 1;
  state_ = State::kEnded;
  client_process_.reset();
  cancel_all();
  asked_.clear();
  progress_.clear();
  notify_listener("ended", [this](SessionListener& listener) { listener.ended(*this); });
  transport_->close();
  asio::post(loop_, [on_end = std::exchange(on_end_, nullptr), exit_code, self] {
    if (on_end) {
      on_end(exit_code);
    }
  });
}

// ---- what comes in

void Session::receive(const std::string& text) {
  if (state_ == State::kEnded) {
    return;
  }
  const auto self = shared_from_this();
  auto read = protocol::parse_message(text);
  if (auto* malformed = std::get_if<protocol::Malformed>(&read)) {
    spdlog::warn("session {}: a malformed message: {}", id_, malformed->error.message);
    if (!malformed->is_response) {
      send_answer(malformed->id, std::move(malformed->error));
    }
    return;
  }
  std::visit([this](auto& message) { handle(std::move(message)); }, std::get<protocol::Message>(read));
}

void Session::initialize(const protocol::RequestId& id, const Json& params) {
  try {
    client_ = protocol::value_as<protocol::InitializeParams>(params);
    encoding_ = choose_encoding(client_.capabilities.position_encodings);
    folders_ = client_.folders;
    if (folders_.empty() && !client_.root_uri.empty()) {
      folders_.push_back({client_.root_uri, client_.root_uri.substr(client_.root_uri.rfind('/') + 1)});
    }
    add_path_maps();
    const Json capabilities = server_capabilities();
    state_ = State::kInitializing;
    was_initialized_ = true;
    watch_client_process();  // before the answer: from then on the client counts on it
    send_answer(id, Json{{"capabilities", capabilities},
                         {"serverInfo", {{"name", "ridgeline"}, {"version", RIDGELINE_VERSION}}}});
  } catch (const protocol::InvalidValue& problem) {
    send_answer(id, protocol::ResponseError{protocol::error_code::kInvalidParams, problem.what()});
    return;
  } catch (const std::exception& problem) {
    send_answer(id, protocol::ResponseError{protocol::error_code::kInternalError, problem.what()});
    return;
  }
  spdlog::info("session {}: {} {}", id_, client_.client_name.empty() ? "a client" : client_.client_name,
               client_.client_version);
}

Json Session::server_capabilities() const {
  Json capabilities = {
      {"positionEncoding", encoding_ == PositionEncoding::kUtf8 ? "utf-8" : "utf-16"},
      {"textDocumentSync", {{"openClose", true}, {"change", kIncremental}, {"save", {{"includeText", false}}}}},
      {"workspace", {{"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}}}}};
  if (service_.capabilities) {
    const Json more = service_.capabilities(client_);
    if (more.is_object()) {
      capabilities.update(more, true);
    }
  }
  return capabilities;
}

void Session::on_initialized(const Json& /*params*/) {
  if (state_ != State::kInitializing) {
    return;
  }
  state_ = State::kRunning;
  if (capabilities().registrable.configuration) {
    register_capabilities(
        {{"ridgeline.configuration", "workspace/didChangeConfiguration", {{"section", service_.settings_section}}}});
  }
  pull_configuration();
  notify_listener("initialized", [this](SessionListener& listener) { listener.initialized(*this); });
}

void Session::watch_client_process() {
  const std::int64_t process = client_.process_id.value_or(0);
  if (process <= 0 || process > std::numeric_limits<pid_t>::max()) {
    return;
  }
  client_process_ = options_.watch_process(loop_, static_cast<pid_t>(process), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->end("the client's process has ended");
    }
  });
  if (client_process_ == nullptr) {
    spdlog::info("session {}: the client's process {} does not belong to this machine and user: it is not watched", id_,
                 process);
  }
}

// ---- what goes out

void Session::send(const protocol::Message& message) {
  if (state_ != State::kEnded) {
    transport_->send(protocol::encode(message));
  }
}

void Session::send_answer(const std::optional<protocol::RequestId>& id, Outcome outcome) {
  send(protocol::Response{id, std::move(outcome)});
}

void Session::notify(std::string method, Json params) {
  if (state_ == State::kStarted) {
    spdlog::debug("session {}: {} is not sent before initialize", id_, method);
    return;
  }
  send(protocol::Notification{std::move(method), std::move(params)});
}

std::int64_t Session::request(std::string method, Json params, std::function<void(ClientAnswer)> callback) {
  const std::int64_t id = ++last_asked_;
  if (state_ == State::kInitializing || state_ == State::kRunning) {
    asked_.emplace(id, std::pair(method, std::move(callback)));
    send(protocol::Request{id, std::move(method), std::move(params)});
  } else {
    spdlog::debug("session {}: request {} is not sent: the session is not running", id_, method);
  }
  return id;
}

void Session::cancel_request(std::int64_t id) {
  if (asked_.contains(id)) {
    notify("$/cancelRequest", {{"id", id}});
  }
}

void Session::register_capabilities(std::vector<protocol::Registration> registrations) {
  request("client/registerCapability", {{"registrations", registrations}}, [id = id_](const ClientAnswer& answer) {
    if (const auto* error = std::get_if<protocol::ResponseError>(&answer)) {
      spdlog::warn("session {}: the client refused to register capabilities: {}", id, error->message);
    }
  });
}

void Session::log(protocol::MessageType type, const std::string& text) {
  spdlog::log(level_of(type), "session {}: {}", id_, text);
  if (type != protocol::MessageType::kDebug) {  // new in 3.18
    notify("window/logMessage", protocol::MessageParams{type, text});
  }
}

void Session::show(protocol::MessageType type, const std::string& text) {
  notify("window/showMessage", protocol::MessageParams{type, text});
}

void Session::ask(protocol::MessageType type, const std::string& text, const std::vector<std::string>& choices,
                  std::function<void(std::optional<std::string>)> callback) {
  request("window/showMessageRequest", protocol::MessageRequestParams{type, text, choices},
          [callback = std::move(callback)](const ClientAnswer& answer) {
            const auto* chosen = std::get_if<Json>(&answer);
            callback(chosen != nullptr && chosen->is_object() ? protocol::optional_member<std::string>(*chosen, "title")
                                                              : std::nullopt);
          });
}

void Session::guarded(std::string_view what, base::FunctionRef<void()> body) {
  try {
    body();
  } catch (const std::exception& problem) {
    log(protocol::MessageType::kError, std::string(what) + " failed: " + problem.what());
  }
}

void Session::notify_listener(std::string_view what, base::FunctionRef<void(SessionListener&)> body) {
  if (service_.listener != nullptr) {
    guarded(what, [&] { body(*service_.listener); });
  }
}

}  // namespace ridgeline::lsp
