// What the files behind a profile were when it was made: enough to know that they have not changed.
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
  /// Whether `files` tells all that the profile depends on, as it was when the run read it. If not, nobody can say
  /// later that nothing has changed.
  bool whole = true;
};

/// Reads files and marks them, each once: it remembers what it has read. Not thread-safe.
class FileReader {
 public:
  /// Nothing when the file cannot be read, is no regular file, or is larger than 256 MiB.
  const std::optional<FileMark>& mark(const std::string& path);

 private:
  std::map<std::string, std::optional<FileMark>> marks_;
};

/// A moment by two clocks: the system's, which the files' times are of and which can be set, and one that cannot.
struct Moment {
  std::chrono::system_clock::time_point system = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
};

/// Marks the files as they are now. It is not whole when one of them cannot be marked, or has changed since `began`
/// (its contents or its inode): then the run may have read another version. Nor is it when the system's clock was set
/// back since, by more than a second: then the files' times do not tell.
Fingerprint take_fingerprint(const std::vector<std::string>& paths, const Moment& began);

/// Whether it is whole and every file is what it was.
bool is_unchanged(const Fingerprint& fingerprint, FileReader& reader);

}  // namespace ridgeline::store
