#include "store/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <cstring>

namespace ridgeline::store {

std::optional<FileIdentity> file_identity(const std::string& path) {
  struct statx status {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &status) != 0) {
    return std::nullopt;
  }
  FileIdentity identity;
  identity.inode = status.stx_ino;
  if ((status.stx_mask & STATX_BTIME) != 0) {
    identity.birth_ns = static_cast<std::uint64_t>(status.stx_btime.tv_sec) * 1'000'000'000U + status.stx_btime.tv_nsec;
  }
  // Numbers of devices may change when the machine starts again; a link's file system is not asked for: it may be one
  // that does not answer.
  struct statfs file_system {};
  static_assert(sizeof(file_system.f_fsid) == sizeof(identity.file_system));
  if (!S_ISLNK(status.stx_mode) && ::statfs(path.c_str(), &file_system) == 0) {
    std::memcpy(&identity.file_system, &file_system.f_fsid, sizeof(identity.file_system));
  }
  if (identity.file_system == 0) {
    identity.file_system = ::makedev(status.stx_dev_major, status.stx_dev_minor);
  }
  return identity;
}

}  // namespace ridgeline::store
