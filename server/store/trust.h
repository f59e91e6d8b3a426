// Which entry files the user lets run: kept in the cache folder, by real path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::store {

/// An entry file, and the project that it was in when the user said yes. Moved into another project it is another one.
struct Trusted {
  std::string entry;         ///< real path
  std::string project_root;  ///< real path
  /// Of the folder that holds the repository: a new clone at the same path is another repository.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const Trusted&) const = default;
};

/// As the file system has it now. False when there is no such folder.
bool identify(Trusted& trusted);

/// Reads `folder`/trust.json. Nothing readable there: nobody is trusted.
std::vector<Trusted> read_trust(const std::string& folder);

/// Adds one, replacing what the same entry had, and writes the file anew in one step, readable by its owner only.
/// False with `error` when that fails. At most 1024 are kept; the oldest go first.
bool add_trust(const std::string& folder, const Trusted& trusted, std::string& error);

/// Whether it was added, and the project is still the same.
bool is_trusted(const std::string& folder, const Trusted& trusted);

}  // namespace ridgeline::store
