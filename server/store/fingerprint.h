// The state of the files that a profile depends on when it was made: enough to know that they have not changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::store {

struct FileMark {
  std::string path;  ///< absolute
  std::uint64_t size = 0;
  std::string hash;  ///< base::ContentHash
  bool operator==(const FileMark&) const = default;
};

struct Fingerprint {
  std::vector<FileMark> files;
  /// Whether `files` has everything that the profile depends on, as it was when the run read it. If not, it cannot be
  /// known later whether something has changed.
  bool whole = true;
};

/// Reads and hashes each file once, and remembers the result. Not thread-safe.
class FileReader {
 public:
  /// Nothing when the file cannot be read, is not a regular file, or is larger than 256 MiB.
  const std::optional<FileMark>& mark(const std::string& path);

 private:
  std::map<std::string, std::optional<FileMark>> marks_;
};

/// A moment on two clocks: the system's, which files' times are taken from and which can be set, and one that cannot.
struct Moment {
  std::chrono::system_clock::time_point system = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
};

/// Records the files as they are now. Not whole when one of them cannot be read, or when its contents or its inode have
/// changed since `began`: then the run may have read another version. Not whole either when the system's clock has been
/// set back since by more than a second: then the files' times cannot be compared.
Fingerprint take_fingerprint(const std::vector<std::string>& paths, const Moment& began);

/// Whether it is whole and every file is unchanged.
bool is_unchanged(const Fingerprint& fingerprint, FileReader& reader);

}  // namespace ridgeline::store
