// The links of a daemon: sessions whose editors may lose their connection and come back.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <string>

#include "lsp/transport/resumable.h"

namespace ridgeline::cli {

/// Who serves new links.
class LinkServer {
 public:
  virtual ~LinkServer() = default;
  virtual void serve(std::shared_ptr<lsp::Transport> link) = 0;
};

/// Lives on the loop. The server outlives it.
class Links {
 public:
  Links(boost::asio::io_context& loop, LinkServer& server) : loop_(loop), server_(server) {}

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
  LinkServer& server_;
  std::map<std::string, Link> links_;  ///< by id
};

}  // namespace ridgeline::cli
