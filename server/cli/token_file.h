// The secret that a client over TCP has to show: in a file that only this user can read.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ridgeline::cli {

/// A token, and the file that it stands in. A file that was made here is removed with its owner.
class TokenFile {
 public:
  TokenFile(TokenFile&& other) noexcept;
  TokenFile& operator=(TokenFile&&) = delete;
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;
  ~TokenFile();

  const std::string& token() const { return token_; }
  const std::string& path() const { return path_; }

  /// Reads `path`, which must belong to this user, be closed to all others and hold a token of at least 128 bits (32
  /// characters); makes it with a new token of 256 bits when there is none. An empty path: a file of ours named after
  /// the port, in $XDG_RUNTIME_DIR/ridgeline, else in the cache folder; it is always made anew.
  static base::Result<TokenFile> open(const std::string& path, std::uint16_t port);

 private:
  TokenFile(std::string path, std::string token, bool made)
      : path_(std::move(path)), token_(std::move(token)), made_(made) {}
  static base::Result<TokenFile> create(std::string path);

  std::string path_;
  std::string token_;
  bool made_;
};

}  // namespace ridgeline::cli
