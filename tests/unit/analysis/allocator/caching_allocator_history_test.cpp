// The model against what PyTorch's allocator did on a GPU: an NVIDIA H100, torch 2.11.0 with CUDA 13.0. The histories
// in tests/data/allocator are written by tests/gpu/histories.py, which says what their lines are.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

#include "analysis/allocator/caching_allocator.h"
#include "ingest/byte_source.h"

namespace ridgeline::analysis {
namespace {

std::string history_of(const std::string& name) {
  std::ifstream file("tests/data/allocator/" + name + ".txt.gz", std::ios::binary);
  EXPECT_TRUE(file) << name;
  const auto read = [&file](std::span<char> buffer) {
    return static_cast<std::size_t>(file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())).gcount());
  };
  const ingest::ByteSource source = ingest::decompressed(read, 64U << 20U);
  std::string text;
  std::string buffer(1U << 16U, '\0');
  while (const std::size_t count = source(buffer)) {
    text.append(buffer, 0, count);
  }
  return text;
}

class RecordedHistory : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedHistory, IsReservedForAsOnTheDevice) {
  std::istringstream events(history_of(GetParam()));
  CachingAllocator allocator;
  std::uint64_t reserved = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t requests = 0;
  for (std::string kind; events >> kind >> first;) {
    if (kind == "alloc") {
      std::uint32_t stream = 0;
      events >> second >> stream;
      ASSERT_TRUE(allocator.allocate(first, second, stream));
      ASSERT_EQ(allocator.usage().reserved, reserved) << "request " << first << " of " << second << " bytes";
      ++requests;
    } else if (kind == "free") {
      allocator.free(first);
    } else {
      events >> second;
      reserved += kind == "segment" ? first : 0;
      reserved -= kind == "release" ? first : 0;
    }
  }
  EXPECT_GT(requests, 500U);  // the last line, "peak", has left its two figures
  // The free block of a size at the lowest address is taken, which the history does not have: the rest of a block that
  // is not split, of up to 1 MiB, may then be another one.
  EXPECT_NEAR(static_cast<double>(allocator.peak().allocated), static_cast<double>(first), 1 << 20);
  EXPECT_EQ(allocator.peak().reserved, second);
}

INSTANTIATE_TEST_SUITE_P(OfExamples, RecordedHistory, ::testing::Values("dcgan-48", "gnmt-8", "gpt-6", "resnet50-32"),
                         [](const auto& each) {
                           std::string name = each.param;
                           name.replace(name.find('-'), 1, "_");
                           return name;
                         });

}  // namespace
}  // namespace ridgeline::analysis
