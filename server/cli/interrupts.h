// Ctrl-C while a command has something to clean up.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace ridgeline::cli {

/// While it exists, SIGINT, SIGTERM and SIGHUP do not end this process: what the command does meanwhile has to look
/// whether one came. Runs of a worker see SIGINT and SIGTERM besides, and end.
class Interrupts {
 public:
  Interrupts();
  bool came();

 private:
  boost::asio::io_context loop_;
  boost::asio::signal_set signals_;
  bool came_ = false;
};

}  // namespace ridgeline::cli
