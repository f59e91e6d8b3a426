// Copying memory that may not be mapped.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>

namespace ridgeline::agent {

/// Copies `bytes` from `from`; false when any of it is not readable (or the kernel forbids the call).
/// Async-signal-safe: one system call.
inline bool safe_copy(void* to, const void* from, std::size_t bytes) {
  iovec local{to, bytes};
  iovec remote{const_cast<void*>(from), bytes};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace ridgeline::agent
