#include "cli/links.h"

#include <chrono>
#include <utility>

namespace ridgeline::cli {

namespace {

/// For an editor to reconnect: long enough for a laptop that was closed over lunch.
constexpr std::chrono::hours kPatience{2};

}  // namespace

void Links::connected(const std::shared_ptr<lsp::Transport>& connection, const lsp::LinkGreeting& greeting) {
  std::erase_if(links_, [](const auto& link) { return link.second.transport.expired(); });
  const auto found = links_.find(greeting.id);
  std::shared_ptr<lsp::Resumable> link = found == links_.end() ? nullptr : found->second.transport.lock();
  const bool is_new = link == nullptr;
  if (is_new && greeting.received > 0) {
    connection->send(std::string(lsp::kLinkGone));
    connection->close();
    return;
  }
  if (is_new) {
    link = std::make_shared<lsp::Resumable>(loop_);
    link->on_detach([this, id = greeting.id](const std::string& /*reason*/) { wait_for_return(id); });
    links_.insert_or_assign(greeting.id, Link{link, boost::asio::steady_timer(loop_)});
  } else {
    found->second.patience.cancel();
  }
  connection->send(encode(lsp::LinkGreeting{greeting.id, link->received()}));
  link->attach(connection, greeting.received);
  if (is_new) {
    server_.serve(std::move(link));
  }
}

void Links::wait_for_return(const std::string& id) {
  const auto found = links_.find(id);
  if (found == links_.end()) {
    return;
  }
  found->second.patience.expires_after(kPatience);
  found->second.patience.async_wait([link = found->second.transport](const auto& problem) {
    if (const auto waiting = link.lock(); waiting != nullptr && !problem && !waiting->attached()) {
      waiting->give_up("the editor did not reconnect");
    }
  });
}

}  // namespace ridgeline::cli
