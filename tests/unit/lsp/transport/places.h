// Temporary folders, connected sockets and a loop that runs until something is so.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/unit/temporary_folder.h"

namespace ridgeline::lsp::testing {

namespace fs = std::filesystem;
using ridgeline::testing::content_of;
using ridgeline::testing::TemporaryFolder;

/// A connected pair: our end is for a transport, which owns and closes it; theirs blocks.
class SocketPair {
 public:
  SocketPair() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) {
      throw std::runtime_error("no sockets");
    }
  }
  ~SocketPair() { close_theirs(); }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  int ours() const { return ends_[0]; }
  void write(std::string_view bytes) const {
    EXPECT_EQ(::send(ends_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// What is there now, or nothing.
  std::string read_some() const {
    std::array<char, 65536> bytes{};
    const ssize_t got = ::recv(ends_[1], bytes.data(), bytes.size(), MSG_DONTWAIT);
    return {bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }
  void close_theirs() {
    if (ends_[1] >= 0) {
      ::close(ends_[1]);
      ends_[1] = -1;
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// Runs the loop until it is so. Generous: only a failing test ever waits this long.
inline bool run_until(boost::asio::io_context& loop, const std::function<bool()>& so) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  loop.restart();
  while (!so() && std::chrono::steady_clock::now() < deadline) {
    loop.run_one_for(std::chrono::milliseconds(100));
    loop.restart();
  }
  return so();
}

}  // namespace ridgeline::lsp::testing
