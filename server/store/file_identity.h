// What distinguishes a file or a folder from another one that is created at the same path later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ridgeline::store {

/// A path and an inode number may be reused once a file has been removed; its time of birth is not, and nobody can set
/// it.
struct FileIdentity {
  std::uint64_t file_system = 0;  ///< its id if it has one, else the number of the device
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;  ///< since 1970; 0: the file system does not record it
  bool operator==(const FileIdentity&) const = default;
};

/// The identity of what is at the path; of a symbolic link, the link's own. Nothing when it cannot be determined.
std::optional<FileIdentity> file_identity(const std::string& path);

/// file_identity, or a test's replacement.
using IdentityOf = std::function<std::optional<FileIdentity>(const std::string& path)>;

}  // namespace ridgeline::store
