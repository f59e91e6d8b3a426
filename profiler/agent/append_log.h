// An append-only log that never moves its elements and takes memory in large, lazily mapped blocks.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>

namespace ridgeline::agent {

/// Owned and appended to by one thread; read by others only while that thread does not append.
/// The whole capacity is reserved as address space when the log is first used, and backed by memory page by page as
/// it fills, so appending neither locks nor calls the heap. At capacity, elements are counted and dropped.
template <typename T>
class AppendLog {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit AppendLog(std::size_t capacity) : capacity_(capacity) {}
  ~AppendLog() {
    if (elements_ != nullptr) {
      ::munmap(elements_, capacity_ * sizeof(T));
    }
  }
  AppendLog(const AppendLog&) = delete;
  AppendLog& operator=(const AppendLog&) = delete;

  /// Maps the address space. Call before the first append; false when the system refuses.
  bool reserve() {
    if (elements_ == nullptr) {
      void* mapped = ::mmap(nullptr, capacity_ * sizeof(T), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      elements_ = mapped == MAP_FAILED ? nullptr : static_cast<T*>(mapped);
    }
    return elements_ != nullptr;
  }

  /// The new element, uninitialised, or null when the log is full.
  T* append() {
    if (size_ >= capacity_ || elements_ == nullptr) {
      ++dropped_;
      return nullptr;
    }
    return &elements_[size_++];
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
  std::size_t room() const { return elements_ == nullptr ? 0 : capacity_ - size_; }
  std::size_t dropped() const { return dropped_; }

 private:
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t dropped_ = 0;
  T* elements_ = nullptr;
};

}  // namespace ridgeline::agent
