#include "worker/guard/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace ridgeline::worker {

namespace {

// As in <linux/landlock.h>, of which older versions lack the newer rights.
constexpr std::uint64_t kWriteFile = 1U << 1U;
constexpr std::uint64_t kRemoveDir = 1U << 4U;
constexpr std::uint64_t kMakeSym = 1U << 12U;
constexpr std::uint64_t kRefer = 1U << 13U;         // version 2
constexpr std::uint64_t kTruncate = 1U << 14U;      // version 3
constexpr std::uint64_t kScopeAbstractSockets = 1;  // version 6
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;

struct RulesetAttributes {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

struct [[gnu::packed]] PathRule {
  std::uint64_t allowed;
  std::int32_t parent;
};

constexpr int kDeviceFolders = 2;  ///< below /dev: /dev/infiniband/uverbs0, /dev/bus/usb/001
constexpr int kMostDevices = 4096;

/// All rights to write that the version knows: those to remove and to make are numbered without a gap.
std::uint64_t writing_rights(long version) {
  std::uint64_t rights = kWriteFile;
  for (std::uint64_t right = kRemoveDir; right <= kMakeSym; right <<= 1U) {
    rights |= right;
  }
  return rights | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
}

/// What is not there is left out.
void allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const int parent = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (parent >= 0) {
    const PathRule rule{rights, parent};
    ::syscall(SYS_landlock_add_rule, ruleset, kPathBeneath, &rule, 0);
    ::close(parent);
  }
}

void allow_devices(int ruleset, std::uint64_t rights) {
  namespace fs = std::filesystem;
  std::error_code problem;
  int devices = 0;
  for (fs::recursive_directory_iterator entry("/dev", fs::directory_options::skip_permission_denied, problem), end;
       !problem && entry != end && devices < kMostDevices; entry.increment(problem)) {
    std::error_code gone;
    if (entry->symlink_status(gone).type() == fs::file_type::character) {
      allow(ruleset, entry->path().string(), rights);
      ++devices;
    }
    if (entry.depth() >= kDeviceFolders || entry->path() == "/dev/shm") {
      entry.disable_recursion_pending();
    }
  }
}

}  // namespace

bool restrict_writes(const WritablePaths& writable) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (version < 1) {
    return false;
  }
  const std::uint64_t rights = writing_rights(version);
  const RulesetAttributes attributes{rights, 0, version >= 6 ? kScopeAbstractSockets : 0};
  const std::size_t size = version >= 6 ? sizeof(attributes) : sizeof(attributes.files);
  const auto ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) {
    return false;
  }
  for (const std::string& folder : writable.folders) {
    allow(ruleset, folder, rights);
  }
  const std::uint64_t of_files = rights & (kWriteFile | kTruncate);
  allow(ruleset, "/dev/pts", of_files);  // also for those that are made later
  allow_devices(ruleset, of_files);
  const bool restricted = ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(ruleset);
  return restricted;
}

}  // namespace ridgeline::worker
