// Which request a block of a device's caching allocator was made for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recorder.h"

namespace ridgeline::agent {

/// The requests at each address. They are matched from the last block backwards, because the requests may begin later
/// than the blocks.
class RequestsByAddress {
 public:
  explicit RequestsByAddress(const std::vector<MemoryRequest>& requests) {
    for (const MemoryRequest& request : requests) {
      by_address_[request.address].push_back(&request);
    }
  }

  /// The request of the last block of `bytes` at the address that was not taken yet. Null when it is unknown, and for a
  /// release.
  const MemoryRequest* take(const void* address, std::uint64_t bytes) {
    const auto found = by_address_.find(reinterpret_cast<std::uint64_t>(address));
    if (bytes == 0 || found == by_address_.end() || found->second.empty()) {
      return nullptr;
    }
    const MemoryRequest* request = found->second.back();
    found->second.pop_back();
    return request->bytes <= bytes ? request : nullptr;
  }

 private:
  std::unordered_map<std::uint64_t, std::vector<const MemoryRequest*>> by_address_;
};

}  // namespace ridgeline::agent
