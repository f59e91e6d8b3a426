// Bytes from anywhere, plain or compressed by gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace ridgeline::ingest {

/// Fills a part of the buffer and says how much; 0 at the end. May throw ImportError.
using ByteSource = std::function<std::size_t(std::span<char>)>;

/// What was found of a source's compression, once it was read to its end.
enum class Compression : std::uint8_t {
  kNone,
  kWhole,
  kCutOff,      ///< the bytes are those before
  kDamaged,     ///< likewise; they may be wrong, too
  kMoreBehind,  ///< what follows the compressed data was left out
};

/// The bytes of `source`, inflated where they begin as gzip does: also several members one after the other. They
/// end where they are damaged or cut off, as `found` says, which must outlive the result unless it is null. Throws
/// ImportError where they are more than `most_bytes`.
ByteSource decompressed(ByteSource source, std::uint64_t most_bytes, Compression* found = nullptr);

}  // namespace ridgeline::ingest
