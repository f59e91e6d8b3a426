#include "profiler/agent/cupti/watched.h"

#include <algorithm>
#include <array>

namespace ridgeline::agent::cupti {

namespace {

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// Cuts off `_v7000`; the first version of a function may have none.
std::string_view without_version(std::string_view name) {
  const std::size_t mark = name.rfind("_v");
  if (mark == std::string_view::npos || mark + 2 == name.size() ||
      name.find_first_not_of("0123456789", mark + 2) != std::string_view::npos) {
    return name;
  }
  return name.substr(0, mark);
}

/// Those that take or give memory can take long, and wait for the device.
constexpr std::array<std::string_view, 16> kMemoryFunctions = {
    "cudaMalloc",    "cudaFree",     "cudaMallocAsync",  "cudaFreeAsync", "cudaMallocManaged", "cudaMallocHost",
    "cudaHostAlloc", "cudaFreeHost", "cudaHostRegister", "cuMemAlloc",    "cuMemFree",         "cuMemCreate",
    "cuMemMap",      "cuMemUnmap",   "cuMemRelease",     "cuMemHostAlloc"};

}  // namespace

std::string_view plain_name(std::string_view name) {
  if (begins_with(name, "__")) {
    name.remove_prefix(2);
  }
  for (;;) {
    std::string_view shorter = without_version(name);
    if (ends_with(shorter, "_ptsz") || ends_with(shorter, "_ptds")) {
      shorter.remove_suffix(5);
    }
    if (shorter == name) {
      return name;
    }
    name = shorter;
  }
}

std::optional<recording::Call> kind_of_call(std::string_view name) {
  const std::string_view plain = plain_name(name);
  if (plain == "cudaGraphLaunch" || plain == "cuGraphLaunch") {
    return recording::Call::kLaunch;
  }
  if (begins_with(plain, "cudaLaunch") || begins_with(plain, "cuLaunch")) {
    if (ends_with(plain, "HostFunc")) {
      return std::nullopt;
    }
    return recording::Call::kLaunch;
  }
  for (const std::string_view start : {"cudaMemcpy", "cudaMemset", "cuMemcpy", "cuMemset"}) {
    if (begins_with(plain, start)) {
      return recording::Call::kCopy;
    }
  }
  if (ends_with(plain, "Synchronize")) {
    return recording::Call::kSynchronise;
  }
  if (std::find(kMemoryFunctions.begin(), kMemoryFunctions.end(), plain) != kMemoryFunctions.end()) {
    return recording::Call::kOther;
  }
  return std::nullopt;
}

WatchedFunctions::WatchedFunctions(const Functions& functions)
    : numbers_(std::size_t{2} * kMaxFunctions, recording::kNone) {
  for (const std::uint32_t domain : {kDriverDomain, kRuntimeDomain}) {
    for (std::uint32_t function = 1; function < kMaxFunctions; ++function) {
      const char* name = nullptr;
      if (functions.get_callback_name(domain, function, &name) != kSuccess || name == nullptr) {
        continue;
      }
      const std::optional<recording::Call> kind = kind_of_call(name);
      if (kind.has_value()) {
        numbers_[(domain - 1) * kMaxFunctions + function] = static_cast<std::uint32_t>(all_.size());
        all_.push_back({domain, function, *kind, std::string(plain_name(name))});
      }
    }
  }
}

std::uint32_t WatchedFunctions::find(std::uint32_t domain, std::uint32_t function) const {
  const bool is_known = (domain == kDriverDomain || domain == kRuntimeDomain) && function < kMaxFunctions;
  return is_known && !numbers_.empty() ? numbers_[(domain - 1) * kMaxFunctions + function] : recording::kNone;
}

}  // namespace ridgeline::agent::cupti
