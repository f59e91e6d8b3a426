// An append-only log that never moves its elements and takes memory in large, lazily mapped blocks.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>

namespace ridgeline::agent {

/// Owned and appended to by one thread; read by others only while that thread does not append.
/// The whole capacity is reserved as address space, and made usable in steps of 4 MiB as it fills, so that appending
/// neither locks nor calls the heap, and limits on the process's data (RLIMIT_DATA) see only what is used. At capacity,
/// or when the system gives no more, elements are counted and dropped.
template <typename T>
class AppendLog {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit AppendLog(std::size_t capacity) : capacity_(capacity) {}
  ~AppendLog() {
    if (elements_ != nullptr) {
      ::munmap(elements_, mapped_bytes());
    }
  }
  AppendLog(const AppendLog&) = delete;
  AppendLog& operator=(const AppendLog&) = delete;

  /// Maps the address space. Call before the first append; false when the system refuses.
  bool reserve() {
    if (elements_ == nullptr) {
      void* mapped = ::mmap(nullptr, mapped_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      elements_ = mapped == MAP_FAILED ? nullptr : static_cast<T*>(mapped);
    }
    return elements_ != nullptr;
  }

  /// The new element, uninitialised, or null when the log is full.
  T* append() {
    if (size_ >= usable_ && !make_usable(size_ + 1)) {
      ++dropped_;
      return nullptr;
    }
    return &elements_[size_++];
  }

  /// Makes room for `count` elements in all, so that as many appends need no system call.
  bool make_usable(std::size_t count) {
    if (count <= usable_) {
      return true;
    }
    if (elements_ == nullptr || count > capacity_) {
      return false;
    }
    const std::size_t bytes = (count * sizeof(T) + kStepBytes - 1) / kStepBytes * kStepBytes;
    if (::mprotect(elements_, bytes, PROT_READ | PROT_WRITE) != 0) {
      return false;
    }
    usable_ = bytes / sizeof(T) < capacity_ ? bytes / sizeof(T) : capacity_;
    return true;
  }

  void truncate(std::size_t size) {
    size_ = size < size_ ? size : size_;
    dropped_ = 0;
  }

  T& operator[](std::size_t index) { return elements_[index]; }
  const T& operator[](std::size_t index) const { return elements_[index]; }
  const T* begin() const { return elements_; }
  const T* end() const { return elements_ + size_; }
  std::size_t size() const { return size_; }
  /// Appends that succeed for certain.
  std::size_t room() const { return usable_ - size_; }
  std::size_t dropped() const { return dropped_; }

 private:
  static constexpr std::size_t kStepBytes = std::size_t{4} << 20U;
  std::size_t mapped_bytes() const { return (capacity_ * sizeof(T) + kStepBytes - 1) / kStepBytes * kStepBytes; }

  std::size_t capacity_;
  std::size_t usable_ = 0;
  std::size_t size_ = 0;
  std::size_t dropped_ = 0;
  T* elements_ = nullptr;
};

}  // namespace ridgeline::agent
