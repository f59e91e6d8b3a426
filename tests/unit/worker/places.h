// Temporary folders and looking at processes: what the tests of the worker layer stand on.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace ridgeline::worker::testing {

namespace fs = std::filesystem;
using ridgeline::testing::content_of;
using ridgeline::testing::TemporaryFolder;

/// Generous: only a failing test ever waits this long.
inline constexpr std::chrono::seconds kPatience{30};

/// An environment variable for as long as this lives; no value unsets it.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) {
      before_ = before;
    }
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) {
    if (value.has_value()) {
      ::setenv(name_, value->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// Asks again and again, with patience.
template <typename Predicate>
bool eventually(Predicate predicate) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Runs the loop until the predicate holds.
template <typename Predicate>
bool run_until(boost::asio::io_context& loop, Predicate predicate) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    loop.restart();
    loop.run_one_for(std::chrono::milliseconds(20));
  }
  return true;
}

struct ProcessState {
  char state = 'X';  ///< as in /proc: R, S, Z ...; X when there is no such process
  pid_t parent = 0;
  pid_t group = 0;
};

inline ProcessState state_of(pid_t process) {
  const std::string stat = content_of("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  ProcessState state;
  if (name_end != std::string::npos) {
    std::istringstream words(stat.substr(name_end + 1));
    words >> state.state >> state.parent >> state.group;
  }
  return state;
}

/// Not running any more; a zombie that nobody reaped counts as gone.
inline bool is_gone(pid_t process) {
  const char state = state_of(process).state;
  return state == 'X' || state == 'Z';
}

/// The process number that a text begins with; 0 when it begins with none.
inline pid_t number_in(const std::string& text) { return static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10)); }

/// Our own children that are in one of these states ("Z": ended and not reaped).
inline std::vector<pid_t> children(std::string_view states) {
  std::vector<pid_t> found;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const auto process = number_in(entry.path().filename().string());
    if (process > 0) {
      const ProcessState state = state_of(process);
      if (state.parent == ::getpid() && states.find(state.state) != std::string_view::npos) {
        found.push_back(process);
      }
    }
  }
  return found;
}
inline std::vector<pid_t> living_children() { return children("RSDTtI"); }

/// The process number that a script wrote into a file, when it is there.
inline std::optional<pid_t> process_in(const fs::path& path) {
  const auto process = number_in(content_of(path));
  return process > 0 ? std::optional(process) : std::nullopt;
}

}  // namespace ridgeline::worker::testing
