#include "profiler/agent/page_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace ridgeline::agent {

namespace {

constexpr std::size_t kPage = 4096;

/// Two readable pages, and one behind them that is not.
class Pages {
 public:
  Pages() {
    void* mapped = ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bytes_ = static_cast<unsigned char*>(mapped);
    std::iota(bytes_, bytes_ + 2 * kPage, static_cast<unsigned char>(0));
    ::mprotect(bytes_ + 2 * kPage, kPage, PROT_NONE);
  }
  ~Pages() { ::munmap(bytes_, 3 * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  unsigned char* at(std::size_t offset) const { return bytes_ + offset; }

 private:
  unsigned char* bytes_ = nullptr;
};

}  // namespace

TEST(PageReader, ReadsAcrossPages) {
  const Pages pages;
  PageReader reader;
  std::vector<unsigned char> copy(1000);
  ASSERT_TRUE(reader.read(copy.data(), pages.at(kPage - 500), copy.size()));
  EXPECT_EQ(std::memcmp(copy.data(), pages.at(kPage - 500), copy.size()), 0);
}

TEST(PageReader, ReadsOfOnePageCostOneSystemCall) {
  const Pages pages;
  PageReader reader;
  std::uint64_t word = 0;
  for (std::size_t offset = 0; offset < kPage; offset += sizeof(word)) {
    ASSERT_TRUE(reader.read(&word, pages.at(offset), sizeof(word)));
  }
  EXPECT_EQ(reader.calls(), 1);
}

TEST(PageReader, WhatIsNotReadableIsRefused) {
  const Pages pages;
  PageReader reader;
  std::uint64_t word = 0;
  EXPECT_FALSE(reader.read(&word, pages.at(2 * kPage), sizeof(word)));
  EXPECT_FALSE(reader.read(&word, pages.at(2 * kPage - 4), sizeof(word)));
  EXPECT_FALSE(reader.read(&word, nullptr, sizeof(word)));
  EXPECT_FALSE(reader.read(&word, reinterpret_cast<const void*>(std::uintptr_t{8}), sizeof(word)));
  EXPECT_TRUE(reader.read(&word, pages.at(2 * kPage - 8), sizeof(word)));
}

TEST(PageReader, WhatChangedIsReadAnewAfterClear) {
  const Pages pages;
  PageReader reader;
  unsigned char byte = 0;
  ASSERT_TRUE(reader.read(&byte, pages.at(1), 1));
  *pages.at(1) = 99;
  reader.clear();
  ASSERT_TRUE(reader.read(&byte, pages.at(1), 1));
  EXPECT_EQ(byte, 99);
}

}  // namespace ridgeline::agent
