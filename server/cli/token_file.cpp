#include "cli/token_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include "base/errno_text.h"
#include "base/random_digits.h"
#include "cli/runtime.h"
#include "worker/process.h"

namespace ridgeline::cli {

namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kLeastCharacters = 32;  ///< 128 bits, written in base 16
constexpr std::size_t kMostCharacters = 4096;

base::Result<void> write_new(const std::string& path, const std::string& token) {
  const worker::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string line = token + "\n";
  if (file.get() < 0 || ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return base::error(base::with_errno("cannot write the token file " + path));
  }
  return {};
}

base::Result<std::string> read_token(const std::string& path, int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || !is_only_ours(status)) {
    return base::error("the token file " + path +
                       " must be a file that you own and that nobody else can read: chmod 600 it");
  }
  std::string token(kMostCharacters, '\0');
  const ssize_t got = ::read(file, token.data(), token.size());
  token.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  if (token.size() < kLeastCharacters) {
    return base::error("the token in " + path + " must have at least " + std::to_string(kLeastCharacters) +
                       " characters");
  }
  return token;
}

}  // namespace

TokenFile::TokenFile(TokenFile&& other) noexcept
    : path_(std::move(other.path_)), token_(std::move(other.token_)), made_(std::exchange(other.made_, false)) {}

TokenFile::~TokenFile() {
  if (made_) {
    ::unlink(path_.c_str());
  }
}

/// Makes the file, which must not exist.
base::Result<TokenFile> TokenFile::create(std::string path) {
  auto token = base::random_digits(kTokenBytes);
  if (!token) {
    return token.error();
  }
  if (auto written = write_new(path, *token); !written) {
    return written.error();
  }
  return TokenFile(std::move(path), std::move(*token), true);
}

base::Result<TokenFile> TokenFile::open(const std::string& path, std::uint16_t port) {
  if (path.empty()) {
    const auto folder = runtime_folder();
    if (!folder) {
      return folder.error();
    }
    // The port is ours while we listen on it: a file that is already there was left by a daemon that has ended.
    std::string own = *folder + "/socket-" + std::to_string(port) + ".token";
    ::unlink(own.c_str());
    return create(std::move(own));
  }
  const worker::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() >= 0) {
    auto token = read_token(path, file.get());
    if (!token) {
      return token.error();
    }
    return TokenFile(path, std::move(*token), false);
  }
  if (errno != ENOENT) {
    return base::error(base::with_errno("cannot read the token file " + path));
  }
  return create(path);
}

}  // namespace ridgeline::cli
