// Messages of Protocol Buffers, written field by field (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ridgeline::report {

/// The bytes of one message. Fields are written as they come, also those with the default value.
class ProtobufMessage {
 public:
  /// Adds a field of any integer type but sint and fixed, bool or an enumeration; a negative int64 as two's complement.
  void add(std::uint32_t field, std::uint64_t value);
  /// Adds a field of type string, which has to be UTF-8, or bytes.
  void add(std::uint32_t field, std::string_view text);
  void add(std::uint32_t field, const ProtobufMessage& message) { add(field, std::string_view(message.bytes_)); }
  /// Adds a repeated integer field, packed; nothing when there are no values.
  void add(std::uint32_t field, std::span<const std::uint64_t> values);

  /// Its size as a varint, and the message: one of several in a file.
  std::string delimited() const;

 private:
  std::string bytes_;
};

}  // namespace ridgeline::report
