// A file whose lock shows that the process that created it is still running.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace ridgeline::base {

class LockFile {
 public:
  struct Held {
    std::string by;  ///< the text that is in the file; may be empty
  };
  struct Problem {
    std::string what;
  };
  /// Creates the file, readable by this user only, locks it, and writes `by` into it: a line of at most 63 bytes. It is
  /// removed with the returned value; the file of a process that has ended is taken over.
  static std::variant<LockFile, Held, Problem> take(const std::string& path, const std::string& by);

  LockFile(LockFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  LockFile& operator=(LockFile&& other) = delete;
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;
  ~LockFile();

 private:
  LockFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
};

}  // namespace ridgeline::base
