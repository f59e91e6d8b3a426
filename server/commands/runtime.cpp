#include "commands/runtime.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/errno_text.h"
#include "worker/cache.h"

namespace ridgeline::commands {

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

base::Result<std::string> random_digits(std::size_t bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string random(bytes, '\0');
  if (::getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    return base::error(base::with_errno("the system gives no random bytes"));
  }
  std::string digits;
  for (const char character : random) {
    const auto byte = static_cast<unsigned char>(character);
    digits.append({kDigits[byte >> 4U], kDigits[byte & 0xFU]});
  }
  return digits;
}

}  // namespace ridgeline::commands
