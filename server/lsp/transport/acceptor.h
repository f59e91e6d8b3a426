// Accepts the connections of a listening socket of any kind.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "lsp/transport/endpoint.h"

namespace ridgeline::lsp {

/// Not Asio's own acceptor: its connections would be inherited by the processes that we start.
/// Some file descriptors are reserved for the process itself, for example to start an interpreter: while only these are
/// free, connections are refused at once.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  /// Why the connection is refused; empty when it is accepted.
  using Check = std::string (*)(int socket);

  /// Takes ownership of `listening`, a non-blocking socket.
  Acceptor(boost::asio::io_context& loop, int listening, Check check, ListenerHandlers handlers);
  void start();
  void stop();
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void accept();
  void hand_over(int socket);
  void refuse(std::string reason);
  void start_later();
  /// When no file descriptor is free: releases the reserved one to accept and close the connection.
  void refuse_without_descriptor();

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor listening_;
  boost::asio::steady_timer pause_;
  int spare_;  ///< the reserved descriptor; -1: none was free
  Check check_;
  ListenerHandlers handlers_;
};

}  // namespace ridgeline::lsp
