#include "worker/job_folder.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string_view>

#include "base/errno_text.h"
#include "worker/process.h"

namespace ridgeline::worker {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPattern = "ridgeline-XXXXXX";
constexpr std::chrono::minutes kLeastAge{1};  ///< of a folder that is taken to be left: it may be about to be used

/// Whether the path is a folder of this user's that was changed longer ago than kLeastAge.
bool is_old_and_ours(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(status.st_mtime) > kLeastAge;
}

/// Whether there is a socket that nobody listens at.
bool is_left(const std::string& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::error_code problem;
  if (address.size() >= sizeof(name.sun_path) || !fs::is_socket(address, problem)) {
    return false;
  }
  address.copy(name.sun_path, sizeof(name.sun_path) - 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket.get() >= 0 && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 &&
         errno == ECONNREFUSED;
}

void remove_left_folders(const fs::path& temporary) {
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(temporary, problem)) {
    const std::string name = entry.path().filename().string();
    const bool is_named_so = name.size() == kPattern.size() && name.starts_with(kPattern.substr(0, kPattern.find('X')));
    if (is_named_so && is_old_and_ours(entry.path()) && is_left(job_address(entry.path().string()))) {
      fs::remove_all(entry.path(), problem);
    }
  }
}

}  // namespace

base::Result<std::string> make_job_folder() {
  std::error_code problem;
  const fs::path temporary = fs::temp_directory_path(problem);
  if (!problem) {
    remove_left_folders(temporary);
  }
  std::string folder = (temporary / kPattern).string();
  if (problem || ::mkdtemp(folder.data()) == nullptr) {  // with mode 0700
    return base::error(base::with_errno("Cannot make a folder for the job's socket"));
  }
  return folder;
}

std::string job_address(const std::string& folder) { return folder + "/job"; }

}  // namespace ridgeline::worker
