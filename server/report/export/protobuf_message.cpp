#include "report/export/protobuf_message.h"

namespace ridgeline::report {

namespace {

constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kLengthDelimited = 2;

/// Seven bits a byte, the lowest first; all bytes but the last have the eighth.
void add_varint(std::string& to, std::uint64_t value) {
  while (value >= 0x80U) {
    to += static_cast<char>((value & 0x7FU) | 0x80U);
    value >>= 7U;
  }
  to += static_cast<char>(value);
}

void add_tag(std::string& to, std::uint32_t field, std::uint32_t type) {
  add_varint(to, (std::uint64_t{field} << 3U) | type);
}

}  // namespace

void ProtobufMessage::add(std::uint32_t field, std::uint64_t value) {
  add_tag(bytes_, field, kVarint);
  add_varint(bytes_, value);
}

void ProtobufMessage::add(std::uint32_t field, std::string_view text) {
  add_tag(bytes_, field, kLengthDelimited);
  add_varint(bytes_, text.size());
  bytes_ += text;
}

void ProtobufMessage::add(std::uint32_t field, std::span<const std::uint64_t> values) {
  if (values.empty()) {
    return;
  }
  std::string packed;
  for (const std::uint64_t value : values) {
    add_varint(packed, value);
  }
  add(field, std::string_view(packed));
}

std::string ProtobufMessage::delimited() const {
  std::string text;
  add_varint(text, bytes_.size());
  return text + bytes_;
}

}  // namespace ridgeline::report
