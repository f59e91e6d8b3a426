#include "cli/runtime.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "worker/cache.h"

namespace ridgeline::cli {

bool is_only_ours(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

base::Result<std::string> runtime_folder() {
  const char* base = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe): read once at start
  struct stat status {};
  if (base != nullptr && ::stat(base, &status) == 0 && S_ISDIR(status.st_mode) && is_only_ours(status)) {
    std::string folder = std::string(base) + "/ridgeline";
    if ((::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) && worker::close_to_others(folder)) {
      return folder;
    }
  }
  return worker::cache_folder();
}

}  // namespace ridgeline::cli
