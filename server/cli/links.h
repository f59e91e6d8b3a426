// The links of a daemon: sessions whose editors may lose their connection and come back.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lsp/transport/resumable.h"

namespace ridgeline::cli {

/// Lives on the loop.
class Links {
 public:
  /// `on_link`: a new link, to be served.
  Links(boost::asio::io_context& loop, std::function<void(std::shared_ptr<lsp::Transport>)> on_link)
      : loop_(loop), on_link_(std::move(on_link)) {}

  /// A connection that began with a greeting, which it will deliver again: of a new link, or of one that resumes. One
  /// that says it has received messages of a link that is not here gets `gone` and is closed.
  void connected(const std::shared_ptr<lsp::Transport>& connection, const lsp::LinkGreeting& greeting);
  /// Forgets all; their sessions have been ended.
  void stop() { links_.clear(); }

 private:
  struct Link {
    std::weak_ptr<lsp::Resumable> transport;
    boost::asio::steady_timer patience;  ///< runs while it is detached
  };
  void wait_for_return(const std::string& id);

  boost::asio::io_context& loop_;
  std::function<void(std::shared_ptr<lsp::Transport>)> on_link_;
  std::map<std::string, Link> links_;  ///< by id
};

}  // namespace ridgeline::cli
