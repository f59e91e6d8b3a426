// Reading the process's own memory where some of it may not be mapped, a page at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "safe_copy.h"

namespace ridgeline::agent {

/// Copies whole pages by the kernel and serves reads from the copies: objects that lie close together, such as the
/// frames of a thread, cost one system call for many. The copies are of the moment of the first read: clear() before
/// memory that may have changed is read again. Async-signal-safe; used by one thread.
class PageReader {
 public:
  void clear() { pages_.fill(0); }

  /// False when any byte cannot be read.
  bool read(void* to, const void* from, std::size_t bytes) {
    auto address = reinterpret_cast<std::uintptr_t>(from);
    auto* target = static_cast<char*>(to);
    while (bytes > 0) {
      const std::size_t offset = address % kPageBytes;
      const std::size_t part = bytes < kPageBytes - offset ? bytes : kPageBytes - offset;
      const char* page = page_at(address - offset);
      if (page == nullptr) {
        return false;
      }
      std::memcpy(target, page + offset, part);
      target += part;
      address += part;
      bytes -= part;
    }
    return true;
  }

  /// System calls so far.
  std::uint64_t calls() const { return calls_; }

 private:
  static constexpr std::size_t kPageBytes = 4096;  ///< no system has smaller pages
  static constexpr std::size_t kPages = 16;

  const char* page_at(std::uintptr_t address) {
    const std::size_t slot = address / kPageBytes % kPages;
    if (address == 0) {
      return nullptr;
    }
    if (pages_[slot] != address) {
      pages_[slot] = 0;
      ++calls_;
      if (!safe_copy(copies_[slot].data(), reinterpret_cast<const void*>(address), kPageBytes)) {
        return nullptr;
      }
      pages_[slot] = address;
    }
    return copies_[slot].data();
  }

  std::array<std::uintptr_t, kPages> pages_{};  ///< 0: none
  std::array<std::array<char, kPageBytes>, kPages> copies_;
  std::uint64_t calls_ = 0;
};

}  // namespace ridgeline::agent
