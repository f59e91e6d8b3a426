// Letting in those who connect to a listening socket, of any kind.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "transport/endpoint.h"

namespace ridgeline::transport {

/// Not Asio's own: that leaves what it accepts open in the processes that we start.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  /// Nothing when the socket may come in, else why not.
  using Check = std::function<std::string(int socket)>;

  /// Owns `listening`, a socket that does not block.
  Acceptor(boost::asio::io_context& loop, int listening, Check check, ListenerHandlers handlers);
  void start();
  void stop();

 private:
  void accept();
  void let_in(int socket);
  void refuse(std::string reason);
  void start_later();

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor listening_;
  boost::asio::steady_timer pause_;
  Check check_;
  ListenerHandlers handlers_;
};

}  // namespace ridgeline::transport
