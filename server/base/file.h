// Whole files: written atomically, and read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include "base/result.h"

namespace ridgeline::base {

/// Who may read a file that we create.
enum class FileAccess : bool {
  kOwner,  ///< 0600
  kUmask   ///< 0666, reduced by the umask
};

/// Whether a file is on the disk before it takes its place, so that a machine that loses its power leaves it whole.
enum class Durability : bool {
  kNone,  ///< for what does not outlive this process, or is compared with what it should be whenever it is read
  kSynced
};

/// Replaces whatever is at `path` (a link itself, not its target) by a file with `content`. Readers see the old file or
/// the new one, never a part; when writing fails the old one stays. Thread-safe.
std::error_code write_atomically(const std::string& path, std::string_view content, FileAccess access,
                                 Durability durability = Durability::kSynced);

/// Waits until what was written to a file, or what was made and renamed in a folder, is on the disk.
std::error_code sync_to_disk(const std::string& path);

/// Writes all of `content` to an open file, however many calls that takes.
std::error_code write_all(int file, std::string_view content);

/// All of a regular file of at most `most_bytes`. An error that names it, else.
Result<std::string> read_text(const std::string& path, std::size_t most_bytes);

/// Sixteen random hexadecimal digits: part of a name that no other thread, process or container chooses.
/// Throws where the system gives no random bytes.
std::string unique_suffix();

}  // namespace ridgeline::base
