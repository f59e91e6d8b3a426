// A file whose lock says that who made it still lives.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace ridgeline::transport {

class LockFile {
 public:
  struct Held {
    std::string by;  ///< process id, as it wrote it; may be empty
  };
  struct Problem {
    std::string what;
  };
  /// Makes the file, for this user only, and locks it. It is removed with its owner; one that a dead process left is
  /// taken over.
  static std::variant<LockFile, Held, Problem> take(const std::string& path);

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

}  // namespace ridgeline::transport
