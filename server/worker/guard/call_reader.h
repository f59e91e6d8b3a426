// What a notified system call would change, read from the process that makes it. Reads /proc and the file system.
#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "worker/guard/system_calls.h"
#include "worker/guard/write_rules.h"

namespace ridgeline::worker {

/// Where a path leads: absolute, its folder without symbolic links, the last part as well where `follows`. Nothing
/// where links lead in a circle. "/proc/self" is that of `process`; `from` is absolute and without links.
std::optional<std::string> canonical_path(const std::string& from, const std::string& path, bool follows,
                                          pid_t process);

/// Whether the kernel lets us read the memory of a process of ours, as containers and Yama may forbid.
bool can_read_memory(pid_t process);

/// What a call with paths attempts. No attempts: it names nothing that exists as a file. Nothing: the memory of the
/// process cannot be read.
std::optional<std::vector<Attempt>> read_attempts(const seccomp_notif& notification, const SystemCall& call);

/// A socket's address.
struct Address {
  std::string text;      ///< "192.0.2.1:443", or a path
  bool is_path = false;  ///< of a Unix socket in the file system
  bool is_near = false;  ///< on this machine, or one at which names are looked up
};

/// The address that a call names; nothing where it names none. `is_near` is as known of the address alone.
std::optional<Address> read_address(const seccomp_notif& notification, const SystemCall& call);

}  // namespace ridgeline::worker
