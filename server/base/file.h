// Files written whole.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace ridgeline::base {

/// Who may read a file that we make.
enum class FileAccess : bool {
  kOwner,  ///< 0600
  kUmask   ///< as any other program's: 0666 without the umask
};

/// Puts `content` in place of whatever stands at `path`, a link itself included. Readers see the old file or the new
/// one, never a part; when writing fails the old one stays. Thread-safe.
std::error_code write_atomically(const std::string& path, std::string_view content, FileAccess access);

/// Sixteen random hexadecimal digits: a part of a name that nobody else chooses, in another thread, process or
/// container either.
std::string unique_suffix();

}  // namespace ridgeline::base
