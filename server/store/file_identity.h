// What tells a file or a folder from another that is made at the same path later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ridgeline::store {

/// A path and an inode number are given out again once a file is gone; the moment of its birth is not, and nobody can
/// set it.
struct FileIdentity {
  std::uint64_t file_system = 0;  ///< its id where it has one, else the device's number
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;  ///< since 1970; 0: the file system does not keep it
  bool operator==(const FileIdentity&) const = default;
};

/// Of what the path names; of a symbolic link: of the link itself. Nothing when it cannot be told.
std::optional<FileIdentity> file_identity(const std::string& path);

/// file_identity, or what a test has in its place.
using IdentityOf = std::function<std::optional<FileIdentity>(const std::string& path)>;

}  // namespace ridgeline::store
