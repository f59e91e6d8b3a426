#include "cli/interrupts.h"

#include <csignal>

namespace ridgeline::cli {

Interrupts::Interrupts() : signals_(loop_, SIGINT, SIGTERM, SIGHUP) {
  signals_.async_wait([this](const boost::system::error_code& error, int /*signal*/) { came_ = came_ || !error; });
}

bool Interrupts::came() {
  loop_.poll();
  return came_;
}

}  // namespace ridgeline::cli
