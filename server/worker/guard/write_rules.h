// Which changes of files a guarded command may make. Pure: what the file system says is passed in.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

namespace ridgeline::worker {

enum class Change {
  kOpen,     ///< for writing, or so that it is made or emptied: `open_flags` say how
  kMake,     ///< a folder, a link, a socket: fails where something is
  kReplace,  ///< where something is renamed to: whatever is there is replaced
  kRemove,   ///< a file or a folder, or renames it
  kAlter,    ///< its length, mode, owner, times or attributes
  kLinked,   ///< the file that a second name is made for, through which it could be written
};

enum class Found { kNothing, kNoFolder, kFile, kFolder, kDevice, kOther };

/// What a system call names.
struct Target {
  std::string path;             ///< absolute, without symbolic links, but perhaps the last part where that is changed
  Found found = Found::kOther;  ///< kNoFolder: its folder does not exist. kDevice: a character device
  bool permitted = true;        ///< whether the user may write to it, or into its folder where it is made or removed
};

struct Attempt {
  Change change = Change::kOpen;
  int open_flags = 0;
  Target target;
};

/// Paths below which a guarded command may write, as that does not count.
struct WritablePaths {
  std::vector<std::string> folders;  ///< with all that is below them
  std::set<std::string> kept;        ///< below one of them, and there before: not to be written
};

enum class Verdict {
  kAllow,   ///< the kernel decides; also where nothing would be written because the call fails
  kRefuse,  ///< fails as on a read-only file system: readers that merely ask for more go on
  kEnd,     ///< the command must not go on
};

/// What one system call attempts: nothing is written where any part of it fails anyway.
Verdict judge(std::span<const Attempt> attempts, const WritablePaths& writable);

}  // namespace ridgeline::worker
