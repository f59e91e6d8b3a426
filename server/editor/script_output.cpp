#include "editor/script_output.h"

#include <chrono>
#include <utility>

#include "protocol/shown_text.h"

namespace ridgeline::editor {

namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::size_t kMostLineBytes = std::size_t{4} << 10U;  ///< a longer one is cut into lines

}  // namespace

ScriptOutput::ScriptOutput(lsp::Session& session, std::string uri)
    : session_(session.weak_from_this()), uri_(std::move(uri)), timer_(session.loop()) {}

ScriptOutput::~ScriptOutput() {
  if (!line_.empty()) {
    line_ += '\n';
    take_lines();
  }
  send();
}

void ScriptOutput::write(std::string_view text) {
  if (taken_ > kMostBytes) {
    return;
  }
  taken_ += text.size();
  line_ += text;
  take_lines();
  if (taken_ > kMostBytes) {
    line_.clear();
    ready_ += "Further output is not shown.\n";
  }
  if (!ready_.empty() && !std::exchange(is_waiting_, true)) {
    timer_.expires_after(kPause);
    timer_.async_wait(lifetime_.guard([this](const auto& error) {
      if (!error) {
        is_waiting_ = false;
        send();
      }
    }));
  }
}

void ScriptOutput::take_lines() {
  std::string_view rest = line_;
  for (;;) {
    std::size_t end = rest.find('\n');
    const bool too_long = end == std::string_view::npos && rest.size() > kMostLineBytes;
    if (end == std::string_view::npos && !too_long) {
      break;
    }
    std::string_view line = rest.substr(0, too_long ? kMostLineBytes : end);
    rest.remove_prefix(too_long ? kMostLineBytes : end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    ready_ += protocol::printable(line.substr(line.rfind('\r') + 1)) + "\n";
  }
  line_ = std::string(rest);
}

void ScriptOutput::send() {
  const auto session = session_.lock();
  if (session != nullptr && session->running() && !ready_.empty()) {
    session->notify("ridgeline/output", {{"uri", uri_}, {"text", std::exchange(ready_, {})}});
  }
}

}  // namespace ridgeline::editor
