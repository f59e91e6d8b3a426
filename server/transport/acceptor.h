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
/// Some descriptors are left for what the process itself has to do, such as starting an interpreter: who connects while
/// no more than these are free is turned away at once.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  /// Nothing when the socket may come in, else why not.
  using Check = std::function<std::string(int socket)>;

  /// Owns `listening`, a socket that does not block.
  Acceptor(boost::asio::io_context& loop, int listening, Check check, ListenerHandlers handlers);
  void start();
  void stop();
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void accept();
  void let_in(int socket);
  void refuse(std::string reason);
  void start_later();
  /// No descriptor is free for a client: gives up the one that is kept for this, to close the client's connection.
  void turn_away_without_descriptor();

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor listening_;
  boost::asio::steady_timer pause_;
  int spare_;  ///< an open descriptor; -1: there was none
  Check check_;
  ListenerHandlers handlers_;
};

}  // namespace ridgeline::transport
