#include "profiler/agent/cupti/records.h"

#include <cstring>

#include "profiler/agent/safe_copy.h"

namespace ridgeline::agent::cupti {

namespace {

constexpr std::size_t kMaxNameBytes = 8192;
constexpr std::size_t kMaxNames = 1U << 16U;
constexpr std::size_t kMaxOverheads = 1U << 18U;
constexpr std::size_t kReadableStep = 1024;  // divides every page

template <typename T>
T field(const std::uint8_t* record, std::size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof(value));
  return value;
}

/// A copy of the text at an address that may not be one; cut off at the bound, or where memory ends.
std::string copy_text(const char* from) {
  std::string text;
  char part[kReadableStep];
  while (text.size() < kMaxNameBytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const std::size_t bytes = kReadableStep - address % kReadableStep;
    if (!safe_copy(part, from, bytes)) {
      break;
    }
    const std::size_t length = ::strnlen(part, bytes);
    text.append(part, length);
    if (length < bytes) {
      break;
    }
    from += bytes;
  }
  return text;
}

enum class Use { kKeep, kSkip, kRefuse };

Use kind_of_copy(std::uint8_t copy_kind, recording::Activity& kind) {
  switch (static_cast<CopyKind>(copy_kind)) {
    case CopyKind::kHostToDevice:
    case CopyKind::kHostToArray:
      kind = recording::Activity::kHostToDevice;
      return Use::kKeep;
    case CopyKind::kDeviceToHost:
    case CopyKind::kArrayToHost:
      kind = recording::Activity::kDeviceToHost;
      return Use::kKeep;
    case CopyKind::kHostToHost:
      return Use::kSkip;  // no device has a part in it
    case CopyKind::kUnknown:
      return Use::kRefuse;
    default:
      kind = recording::Activity::kDeviceToDevice;
      return copy_kind <= static_cast<std::uint8_t>(CopyKind::kPeerToPeer) ? Use::kKeep : Use::kRefuse;
  }
}

const ActivityLayout* layout_of(Kind kind) {
  switch (kind) {
    case Kind::kKernel:
    case Kind::kConcurrentKernel:
      return &kKernelLayout;
    case Kind::kMemcpy:
      return &kMemcpyLayout;
    case Kind::kMemcpyPeer:
      return &kMemcpyPeerLayout;
    case Kind::kMemset:
      return &kMemsetLayout;
    default:
      return nullptr;
  }
}

void add_activity(const std::uint8_t* record, Kind kind, const ActivityLayout& layout, std::size_t most,
                  Records& records) {
  DeviceActivity activity{field<std::uint64_t>(record, layout.start),
                          field<std::uint64_t>(record, layout.end),
                          layout.bytes == 0 ? 0 : field<std::uint64_t>(record, layout.bytes),
                          field<std::uint32_t>(record, layout.device),
                          field<std::uint32_t>(record, layout.stream),
                          field<std::uint32_t>(record, layout.correlation),
                          0,
                          recording::Activity::kKernel,
                          layout.graph_node == 0 ? 0 : field<std::uint64_t>(record, layout.graph_node)};
  Use use = Use::kKeep;
  if (kind == Kind::kMemcpy || kind == Kind::kMemcpyPeer) {
    use = kind_of_copy(field<std::uint8_t>(record, kCopyKindOffset), activity.kind);
  } else if (kind == Kind::kMemset) {
    activity.kind = recording::Activity::kSet;
  }
  // CUPTI gives 0 for times that it could not take.
  const bool is_finished = activity.start != 0 && activity.end >= activity.start;
  if (use == Use::kSkip) {
    return;
  }
  if (use == Use::kRefuse || !is_finished || records.activities.size() >= most) {
    ++records.lost;
    return;
  }
  if (layout.name != 0) {
    activity.name = records.names.intern(field<const char*>(record, layout.name));
  }
  records.activities.push_back(activity);
}

void add_overhead(const std::uint8_t* record, Records& records) {
  const auto kind = field<std::uint32_t>(record, kOverheadLayout.kind);
  const bool is_ours = kind == kBufferFlush || kind == kInstrumentation || kind == kResource || kind == kBufferRequest;
  if (!is_ours || field<std::uint32_t>(record, kOverheadLayout.object_kind) != kThreadObject) {
    return;
  }
  const Overhead overhead{field<std::uint64_t>(record, kOverheadLayout.start),
                          field<std::uint64_t>(record, kOverheadLayout.end),
                          field<std::uint32_t>(record, kOverheadLayout.thread)};
  if (overhead.start != 0 && overhead.end >= overhead.start && records.overheads.size() < kMaxOverheads) {
    records.overheads.push_back(overhead);
  }
}

/// False where the record does not end before the buffer does.
bool add_record(const std::uint8_t* record, std::size_t room, std::size_t most, Records& records) {
  const auto kind = static_cast<Kind>(field<std::uint32_t>(record, kKindOffset));
  const ActivityLayout* layout = layout_of(kind);
  const std::size_t least = layout != nullptr         ? layout->least_bytes
                            : kind == Kind::kOverhead ? kOverheadLayout.least_bytes
                                                      : 0;
  if (room < least) {
    return false;
  }
  if (layout != nullptr) {
    add_activity(record, kind, *layout, most, records);
  } else if (kind == Kind::kOverhead) {
    add_overhead(record, records);
  }
  return true;
}

}  // namespace

std::uint32_t KernelNames::intern(const char* name) {
  const auto [known, is_new] = by_address_.try_emplace(name, 0);
  if (!is_new || name == nullptr) {
    return known->second;
  }
  std::string text = copy_text(name);
  if (text.empty() || names_.size() >= kMaxNames) {
    return 0;
  }
  const auto [found, inserted] = by_text_.try_emplace(std::move(text), static_cast<std::uint32_t>(names_.size()));
  if (inserted) {
    names_.push_back(found->first);
  }
  known->second = found->second;
  return found->second;
}

void read_records(std::uint8_t* buffer, std::size_t valid_bytes, NextRecord next, std::size_t most, Records& records) {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer);
  std::uintptr_t previous = 0;
  void* record = nullptr;
  for (;;) {
    const Result result = next(buffer, valid_bytes, &record);
    if (result == kMaxLimitReached) {
      return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(record);
    const bool is_inside = result == kSuccess && address >= begin && address > previous &&
                           address - begin <= valid_bytes && valid_bytes - (address - begin) >= sizeof(std::uint32_t);
    if (!is_inside ||
        !add_record(static_cast<const std::uint8_t*>(record), valid_bytes - (address - begin), most, records)) {
      ++records.lost;  // at least this one: what follows cannot be counted
      return;
    }
    previous = address;
  }
}

}  // namespace ridgeline::agent::cupti
