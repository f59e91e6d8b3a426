#include "lsp/session/progress.h"

#include <algorithm>
#include <utility>

#include "lsp/session/progress_state.h"
#include "lsp/session/session.h"
#include "protocol/json_fields.h"

namespace ridgeline::lsp {

using protocol::Json;

namespace {

constexpr std::uint32_t kWhole = 100;

std::optional<protocol::ProgressToken> token_of(const Json& request_params, const char* name = "workDoneToken") {
  const bool has_one = request_params.is_object() && request_params.contains(name);
  return has_one ? protocol::read_request_id(request_params[name]) : std::nullopt;
}

void send(const Progress::State& state, Json value) {
  if (const auto session = state.session.lock()) {
    session->notify("$/progress", {{"token", protocol::to_json(state.token)}, {"value", std::move(value)}});
  }
}

void show(Progress::State& state) {
  state.stage = Progress::State::Stage::kShown;
  send(state, state.begin);
}

}  // namespace

Progress::Progress(Session& session, const Json& request_params, protocol::WorkDoneProgressBegin begin,
                   std::function<void()> on_cancel) {
  const std::optional<protocol::ProgressToken> given = token_of(request_params);
  if (!given.has_value() && !session.capabilities().window.work_done_progress) {
    return;
  }
  state_ = std::make_shared<State>();
  state_->session = session.weak_from_this();
  state_->begin = std::move(begin);
  if (state_->begin.cancellable) {
    state_->on_cancel = std::move(on_cancel);
  }
  state_->token = given.value_or("ridgeline/" + std::to_string(++session.last_token_));
  session.progress_[state_->token] = state_;
  if (given.has_value()) {
    show(*state_);
    return;
  }
  session.request("window/workDoneProgress/create", {{"token", protocol::to_json(state_->token)}},
                  [state = state_](const ClientAnswer& answer) {
                    if (state->stage == State::Stage::kAsked && std::holds_alternative<Json>(answer)) {
                      show(*state);
                    }
                  });
}

Progress::Progress(Progress&&) noexcept = default;

Progress& Progress::operator=(Progress&& other) noexcept {
  if (this != &other) {
    end();
    state_ = std::move(other.state_);
  }
  return *this;
}

Progress::~Progress() { end(); }

void Progress::report(protocol::WorkDoneProgressReport report) {
  if (state_ == nullptr || state_->stage == State::Stage::kEnded) {
    return;
  }
  protocol::WorkDoneProgressBegin& now = state_->begin;
  if (!now.percentage.has_value()) {
    report.percentage.reset();  // one that has no percentage at first never has one
  } else if (report.percentage.has_value()) {
    now.percentage = std::clamp(*report.percentage, *now.percentage, kWhole);
    report.percentage = now.percentage;
  }
  if (!report.message.empty()) {
    now.message = report.message;
  }
  if (state_->stage == State::Stage::kShown) {
    send(*state_, report);
  }
}

void Progress::end(const std::string& message) {
  const std::shared_ptr<State> state = std::exchange(state_, nullptr);
  if (state == nullptr) {
    return;
  }
  if (state->stage == State::Stage::kShown) {
    send(*state, protocol::WorkDoneProgressEnd{message});
  }
  state->stage = State::Stage::kEnded;
  if (const auto session = state->session.lock()) {
    session->progress_.erase(state->token);
  }
}

std::function<void(Json part)> partial_results(Session& session, const Json& request_params) {
  const auto token = token_of(request_params, "partialResultToken");
  if (!token.has_value()) {
    return {};
  }
  return [weak = session.weak_from_this(), token = protocol::to_json(*token)](Json part) {
    if (const auto open = weak.lock()) {
      open->notify("$/progress", {{"token", token}, {"value", std::move(part)}});
    }
  };
}

void Session::cancel_progress(const Json& params) {
  const auto token = protocol::read_request_id(protocol::member<Json>(params, "token"));
  const auto found = token.has_value() ? progress_.find(*token) : progress_.end();
  const auto state = found == progress_.end() ? nullptr : found->second.lock();
  if (state != nullptr) {
    if (const auto on_cancel = std::exchange(state->on_cancel, nullptr)) {
      on_cancel();
    }
  }
}

}  // namespace ridgeline::lsp
