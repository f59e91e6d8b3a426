// What a script writes while it is profiled, sent to the client as ridgeline/output.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/lifetime.h"
#include "lsp/session/session.h"

namespace ridgeline::editor {

/// Sends whole lines, ten times a second at most, as text that means nothing to a terminal; of a line that was written
/// over (progress bars), what was last there. After kMostBytes only that there is more. Lives on the loop; what is left
/// is sent when it is destroyed. A session that has ended gets nothing.
class ScriptOutput {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

  ScriptOutput(lsp::Session& session, std::string uri);
  ~ScriptOutput();
  ScriptOutput(const ScriptOutput&) = delete;
  ScriptOutput& operator=(const ScriptOutput&) = delete;

  void write(std::string_view text);

 private:
  void take_lines();
  void send();

  std::weak_ptr<lsp::Session> session_;
  std::string uri_;
  boost::asio::steady_timer timer_;
  bool is_waiting_ = false;
  std::string line_;   ///< that has not ended
  std::string ready_;  ///< lines to be sent
  std::size_t taken_ = 0;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::editor
