// Bytes from anywhere, plain or compressed by gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace ridgeline::imports {

/// Fills a part of the buffer and says how much; 0 at the end. May throw ImportError.
using ByteSource = std::function<std::size_t(std::span<char>)>;

/// The bytes of `source`, inflated where they begin as gzip does: also several members one after the other. Throws
/// ImportError where they are damaged, cut off, or more than `most_bytes`.
ByteSource decompressed(ByteSource source, std::uint64_t most_bytes);

}  // namespace ridgeline::imports
