#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errno_text.h"

namespace ridgeline::base {

namespace {

std::string first_line(int fd) {
  std::array<char, 64> bytes{};
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), 0);
  const std::string text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.substr(0, text.find('\n'));
}

/// The file may have been removed, and even made again, between its opening and its locking.
bool still_there(const std::string& path, int fd) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

std::variant<LockFile, LockFile::Held, LockFile::Problem> LockFile::take(const std::string& path,
                                                                         const std::string& by) {
  for (;;) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
      return Problem{with_errno("cannot make " + path)};
    }
    LockFile lock("", fd);  // closes; removes nothing yet
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      return errno == EWOULDBLOCK ? std::variant<LockFile, Held, Problem>(Held{first_line(fd)})
                                  : Problem{with_errno("cannot lock " + path)};
    }
    if (!still_there(path, fd)) {
      continue;
    }
    const std::string line = by + "\n";
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, line.data(), line.size(), 0) < 0) {
      return Problem{with_errno("cannot write " + path)};
    }
    lock.path_ = path;
    return lock;
  }
}

LockFile::~LockFile() {
  if (fd_ >= 0) {
    if (!path_.empty()) {
      ::unlink(path_.c_str());
    }
    ::close(fd_);
  }
}

}  // namespace ridgeline::base
