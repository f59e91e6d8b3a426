// Messages of Protocol Buffers, written field by field (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ridgeline::exports {

/// The bytes of one message. Fields are written as they come, also those with the default value.
class ProtobufMessage {
 public:
  /// Of any integer type but sint and fixed; of a negative int64 its two's complement. Also bool and enumerations.
  void add(std::uint32_t field, std::uint64_t value);
  /// Of string, which has to be UTF-8, and of bytes.
  void add(std::uint32_t field, std::string_view text);
  void add(std::uint32_t field, const ProtobufMessage& message) { add(field, std::string_view(message.bytes_)); }
  /// Of a repeated integer, packed; nothing where there is none.
  void add(std::uint32_t field, std::span<const std::uint64_t> values);

  /// Its size as a varint, and the message: one of several in a file.
  std::string delimited() const;

 private:
  std::string bytes_;
};

}  // namespace ridgeline::exports
