// Buffers of activity records, whole and damaged, become activities.
#include "profiler/agent/cupti/records.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <random>

namespace ridgeline::agent::cupti {
namespace {

using recording::Activity;

/// As CUDA 12.8 has them, in bytes.
constexpr std::size_t kKernelBytes = 208;
constexpr std::size_t kCopyBytes = 96;
constexpr std::size_t kPeerBytes = 96;
constexpr std::size_t kSetBytes = 88;
constexpr std::size_t kOverheadBytes = 56;
constexpr std::size_t kMost = 1000;

std::size_t bytes_of(std::uint32_t kind) {
  switch (static_cast<Kind>(kind)) {
    case Kind::kConcurrentKernel:
    case Kind::kKernel:
      return kKernelBytes;
    case Kind::kMemcpy:
      return kCopyBytes;
    case Kind::kMemcpyPeer:
      return kPeerBytes;
    case Kind::kMemset:
      return kSetBytes;
    case Kind::kOverhead:
      return kOverheadBytes;
    default:
      return 0;
  }
}

/// The iteration as CUPTI does it: by the sizes of the kinds.
Result next_record(std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
  std::uint8_t* at = buffer;
  std::uint32_t kind = 0;
  if (*record != nullptr) {
    std::memcpy(&kind, *record, sizeof(kind));  // it was whole, or the reading would have ended
    at = static_cast<std::uint8_t*>(*record) + bytes_of(kind);
  }
  if (at >= buffer + valid_bytes) {
    return kMaxLimitReached;
  }
  *record = at;
  if (buffer + valid_bytes - at < static_cast<std::ptrdiff_t>(sizeof(kind))) {
    return kSuccess;
  }
  std::memcpy(&kind, at, sizeof(kind));
  return bytes_of(kind) == 0 ? kInvalidKind : kSuccess;
}

class Buffer {
 public:
  template <typename T>
  Buffer& put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + record_ + offset, &value, sizeof(value));
    return *this;
  }
  Buffer& record(Kind kind) {
    record_ = bytes_.size();
    bytes_.resize(record_ + bytes_of(static_cast<std::uint32_t>(kind)), 0xA5);  // fields that must not be read
    return put(kKindOffset, kind);
  }
  Buffer& activity(Kind kind, const ActivityLayout& layout, std::uint64_t start, std::uint64_t end,
                   std::uint32_t correlation) {
    return record(kind)
        .put(layout.start, start)
        .put(layout.end, end)
        .put(layout.device, std::uint32_t{1})
        .put(layout.stream, std::uint32_t{7})
        .put(layout.correlation, correlation);
  }
  Buffer& kernel(const char* name, std::uint64_t start, std::uint64_t end, std::uint32_t correlation) {
    return activity(Kind::kConcurrentKernel, kKernelLayout, start, end, correlation).put(kKernelLayout.name, name);
  }
  Buffer& copy(CopyKind kind, std::uint64_t bytes) {
    return activity(Kind::kMemcpy, kMemcpyLayout, 10, 20, 3).put(kCopyKindOffset, kind).put(kMemcpyLayout.bytes, bytes);
  }
  Buffer& overhead(std::uint32_t kind, std::uint32_t object, std::uint64_t start, std::uint64_t end) {
    return record(Kind::kOverhead)
        .put(kOverheadLayout.kind, kind)
        .put(kOverheadLayout.object_kind, object)
        .put(kOverheadLayout.thread, std::uint32_t{99})
        .put(kOverheadLayout.start, start)
        .put(kOverheadLayout.end, end);
  }

  Records read(NextRecord next = &next_record, std::size_t most = kMost) {
    return read_first(bytes_.size(), next, most);
  }
  /// The first bytes only, on memory of their own, so that the sanitizer sees who reads beyond them.
  Records read_first(std::size_t valid_bytes, NextRecord next = &next_record, std::size_t most = kMost) {
    std::vector<std::uint8_t> memory(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(valid_bytes));
    Records records;
    read_records(memory.data(), memory.size(), next, most, records);
    return records;
  }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t record_ = 0;
};

TEST(CuptiRecords, KernelsWithTheirNames) {
  const std::string again = "gemm";
  const Records records =
      Buffer().kernel("gemm", 10, 30, 5).kernel("relu", 30, 31, 6).kernel(again.c_str(), 40, 50, 7).read();
  ASSERT_EQ(records.activities.size(), 3U);
  const DeviceActivity& first = records.activities[0];
  EXPECT_EQ(first.start, 10U);
  EXPECT_EQ(first.end, 30U);
  EXPECT_EQ(first.device, 1U);
  EXPECT_EQ(first.stream, 7U);
  EXPECT_EQ(first.correlation, 5U);
  EXPECT_EQ(first.bytes, 0U);
  EXPECT_EQ(first.kind, Activity::kKernel);
  EXPECT_THAT(records.names.names(), ::testing::ElementsAre("", "gemm", "relu"));
  EXPECT_EQ(records.activities[2].name, first.name);
  EXPECT_EQ(records.lost, 0U);
}

TEST(CuptiRecords, CopiesAndSets) {
  Buffer buffer;
  for (const CopyKind kind : {CopyKind::kHostToDevice, CopyKind::kHostToArray, CopyKind::kDeviceToHost,
                              CopyKind::kArrayToHost, CopyKind::kHostToHost, static_cast<CopyKind>(8)}) {
    buffer.copy(kind, 4096);
  }
  buffer.activity(Kind::kMemcpyPeer, kMemcpyPeerLayout, 10, 20, 8)
      .put(kCopyKindOffset, CopyKind::kPeerToPeer)
      .put(kMemcpyPeerLayout.bytes, std::uint64_t{512});
  buffer.activity(Kind::kMemset, kMemsetLayout, 10, 20, 9).put(kMemsetLayout.bytes, std::uint64_t{64});
  const Records records = buffer.read();
  std::vector<std::pair<Activity, std::uint64_t>> found;
  for (const DeviceActivity& activity : records.activities) {
    found.emplace_back(activity.kind, activity.bytes);
  }
  EXPECT_THAT(found, ::testing::ElementsAre(
                         std::pair{Activity::kHostToDevice, 4096U}, std::pair{Activity::kHostToDevice, 4096U},
                         std::pair{Activity::kDeviceToHost, 4096U}, std::pair{Activity::kDeviceToHost, 4096U},
                         std::pair{Activity::kDeviceToDevice, 4096U}, std::pair{Activity::kDeviceToDevice, 512U},
                         std::pair{Activity::kSet, 64U}));
  EXPECT_EQ(records.activities[5].correlation, 8U);
  EXPECT_EQ(records.lost, 0U);
}

TEST(CuptiRecords, UnknownCopiesAreRefused) {
  const Records records = Buffer().copy(CopyKind::kUnknown, 1).copy(static_cast<CopyKind>(11), 1).read();
  EXPECT_TRUE(records.activities.empty());
  EXPECT_EQ(records.lost, 2U);
}

TEST(CuptiRecords, HalfFinishedOnesAreRefused) {
  const Records records =
      Buffer().kernel("a", 0, 0, 1).kernel("b", 10, 0, 2).kernel("c", 10, 9, 3).kernel("d", 10, 10, 4).read();
  ASSERT_EQ(records.activities.size(), 1U);
  EXPECT_EQ(records.activities[0].correlation, 4U);
  EXPECT_EQ(records.lost, 3U);
}

TEST(CuptiRecords, OrderIsTheBuffers) {
  const Records records = Buffer().kernel("late", 100, 110, 2).kernel("early", 10, 20, 1).read();
  EXPECT_EQ(records.activities[0].start, 100U);
  EXPECT_EQ(records.activities[1].start, 10U);
}

TEST(CuptiRecords, BeyondTheBoundTheyAreCounted) {
  Buffer buffer;
  for (std::uint32_t i = 1; i <= 10; ++i) {
    buffer.kernel("k", i, i + 1, i);
  }
  const Records records = buffer.read(&next_record, 4);
  EXPECT_EQ(records.activities.size(), 4U);
  EXPECT_EQ(records.lost, 6U);
}

TEST(CuptiRecords, OwnWorkOfCuptiIsOverhead) {
  const Records records = Buffer()
                              .overhead(kBufferFlush, kThreadObject, 10, 20)
                              .overhead(1, kThreadObject, 10, 20)          // the driver compiles
                              .overhead(5U << 16U, kThreadObject, 10, 20)  // the driver loads a function
                              .overhead(kInstrumentation, 3, 10, 20)       // on a device
                              .overhead(kResource, kThreadObject, 0, 20)   // without times
                              .overhead(kBufferRequest, kThreadObject, 30, 31)
                              .read();
  ASSERT_EQ(records.overheads.size(), 2U);
  EXPECT_EQ(records.overheads[0].start, 10U);
  EXPECT_EQ(records.overheads[1].end, 31U);
  EXPECT_EQ(records.overheads[0].thread, 99U);
}

TEST(CuptiRecords, CutOffAnywhereNothingIsReadBeyond) {
  Buffer buffer;
  buffer.kernel("a", 10, 20, 1).copy(CopyKind::kHostToDevice, 8).overhead(kBufferFlush, kThreadObject, 1, 2);
  buffer.activity(Kind::kMemcpyPeer, kMemcpyPeerLayout, 10, 20, 8).put(kCopyKindOffset, CopyKind::kPeerToPeer);
  buffer.activity(Kind::kMemset, kMemsetLayout, 10, 20, 9);
  for (std::size_t bytes = 0; bytes < buffer.bytes().size(); ++bytes) {
    // The library believes in the whole buffer.
    const Records records = buffer.read_first(bytes);
    EXPECT_LE(records.activities.size(), 4U);
  }
  EXPECT_EQ(buffer.read_first(kKernelLayout.least_bytes - 1).activities.size(), 0U);
  EXPECT_EQ(buffer.read_first(kKernelLayout.least_bytes - 1).lost, 1U);
}

TEST(CuptiRecords, ALibraryThatGivesRecordsElsewhereIsNotFollowed) {
  Buffer buffer;
  buffer.kernel("a", 10, 20, 1).kernel("b", 20, 30, 2);
  for (const NextRecord next : {NextRecord{[](std::uint8_t*, std::size_t, void** record) -> Result {
                                  *record = nullptr;
                                  return kSuccess;
                                }},
                                NextRecord{[](std::uint8_t* bytes, std::size_t valid, void** record) -> Result {
                                  *record = bytes + valid;
                                  return kSuccess;
                                }},
                                NextRecord{[](std::uint8_t* bytes, std::size_t valid, void** record) -> Result {
                                  *record = bytes + valid - 2;
                                  return kSuccess;
                                }},
                                NextRecord{[](std::uint8_t* bytes, std::size_t, void** record) -> Result {
                                  *record = bytes;  // again and again
                                  return kSuccess;
                                }},
                                NextRecord{[](std::uint8_t*, std::size_t, void**) -> Result { return 999; }}}) {
    const Records records = buffer.read(next);
    EXPECT_LE(records.activities.size(), 1U);
    EXPECT_EQ(records.lost, 1U);
  }
}

TEST(CuptiRecords, UnknownKindsAreLeftOut) {
  const NextRecord next = [](std::uint8_t* buffer, std::size_t valid_bytes, void** record) -> Result {
    auto* at = *record == nullptr ? buffer : static_cast<std::uint8_t*>(*record) + kKernelBytes;
    *record = at;
    return at < buffer + valid_bytes ? kSuccess : kMaxLimitReached;
  };
  Buffer buffer;
  buffer.kernel("a", 10, 20, 1).put(kKindOffset, std::uint32_t{77}).kernel("b", 20, 30, 2);
  const Records records = buffer.read(next);
  ASSERT_EQ(records.activities.size(), 1U);
  EXPECT_EQ(records.activities[0].correlation, 2U);
  EXPECT_EQ(records.lost, 0U);
}

TEST(CuptiRecords, AnyBytesAreReadSafely) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Buffer buffer;
    buffer.kernel("a", 10, 20, 1).copy(CopyKind::kHostToDevice, 8).kernel("b", 20, 30, 2);
    for (int change = 0; change < 20; ++change) {
      buffer.bytes()[random() % buffer.bytes().size()] = static_cast<std::uint8_t>(random());
    }
    const Records records = buffer.read();
    EXPECT_LE(records.activities.size(), 3U);
    for (const DeviceActivity& activity : records.activities) {
      EXPECT_LE(activity.start, activity.end);
      EXPECT_LT(activity.name, records.names.names().size());
    }
  }
}

TEST(CuptiKernelNames, AddressesThatAreNoTextHaveNoName) {
  KernelNames names;
  EXPECT_EQ(names.intern(nullptr), 0U);
  EXPECT_EQ(names.intern(reinterpret_cast<const char*>(std::uintptr_t{16})), 0U);
  EXPECT_EQ(names.intern(""), 0U);
}

TEST(CuptiKernelNames, EndWhereMemoryEndsOrAtTheBound) {
  constexpr std::size_t kPage = 4096;
  auto* pages =
      static_cast<char*>(::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 'x', 4 * kPage);
  ::munmap(pages + 3 * kPage, kPage);
  KernelNames names;
  const std::uint32_t short_one = names.intern(pages + 3 * kPage - 5);
  EXPECT_EQ(names.names()[short_one], "xxxxx");
  const std::uint32_t long_one = names.intern(pages);
  EXPECT_GE(names.names()[long_one].size(), 8000U);
  EXPECT_LE(names.names()[long_one].size(), 10000U);
  ::munmap(pages, 3 * kPage);
}

}  // namespace
}  // namespace ridgeline::agent::cupti
