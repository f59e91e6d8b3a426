#include "imports/bounded_json.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "imports/import_error.h"

namespace ridgeline::imports {

namespace {

std::string size_of(std::size_t bytes) {
  constexpr std::size_t kMebi = std::size_t{1} << 20U;
  return bytes % kMebi == 0 ? std::to_string(bytes / kMebi) + " MiB" : std::to_string(bytes) + " bytes";
}

/// Knows just enough of JSON to tell strings and numbers from what is between them. Text that is no JSON is the
/// parser's to refuse.
class Meter {
 public:
  explicit Meter(const TokenLimits& limits) : limits_(limits) {}

  void measure(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      at = kind_ == Kind::kString ? in_string(bytes, at) : outside(bytes, at);
    }
    offset_ += bytes.size();
  }

 private:
  enum class Kind : std::uint8_t { kGap, kNumber, kString };

  /// Looks at what belongs to the string; returns the byte behind that.
  std::size_t in_string(std::string_view bytes, std::size_t at) {
    std::size_t end = at;
    while (end < bytes.size() && (escaped_ || (bytes[end] != '"' && bytes[end] != '\\'))) {
      escaped_ = false;
      ++end;
    }
    grow(end - at, limits_.string_bytes);
    if (end == bytes.size()) {
      return end;
    }
    if (bytes[end] == '"') {
      begin(Kind::kGap, end + 1);
    } else {
      escaped_ = true;
      grow(1, limits_.string_bytes);
    }
    return end + 1;
  }

  std::size_t outside(std::string_view bytes, std::size_t at) {
    const char byte = bytes[at];
    if (byte == '"') {
      begin(Kind::kString, at);
      return at + 1;
    }
    const bool digit = byte >= '0' && byte <= '9';
    const bool number =
        digit || byte == '-' || (kind_ == Kind::kNumber && (byte == '.' || byte == '+' || byte == 'e' || byte == 'E'));
    if (number != (kind_ == Kind::kNumber)) {
      begin(number ? Kind::kNumber : Kind::kGap, at);
    }
    grow(1, number ? limits_.number_bytes : limits_.gap_bytes);
    return at + 1;
  }

  void begin(Kind kind, std::size_t at) {
    kind_ = kind;
    begin_ = offset_ + at;
    length_ = 0;
  }

  void grow(std::size_t bytes, std::size_t limit) {
    length_ += bytes;
    if (length_ > limit) {
      refuse(limit);
    }
  }

  [[noreturn]] void refuse(std::size_t limit) const {
    const std::string where = " at byte " + std::to_string(begin_) + " of its JSON";
    const std::string size = " longer than " + size_of(limit);
    throw ImportError(
        kind_ == Kind::kString   ? "The trace has a string" + size + where + ": shorten it, or record the trace again."
        : kind_ == Kind::kNumber ? "The trace has a number" + size + where + ": record the trace again."
                                 : "The trace has a stretch of blanks or brackets" + size + where +
                                       ": remove it (jq -c . does so with blanks), or record the trace again.");
  }

  TokenLimits limits_;
  Kind kind_ = Kind::kGap;
  bool escaped_ = false;      ///< the string's next byte is
  std::uint64_t offset_ = 0;  ///< of the bytes that are measured
  std::uint64_t begin_ = 0;   ///< of the token that is open
  std::size_t length_ = 0;    ///< likewise
};

}  // namespace

ByteSource bounded_json(ByteSource source, const TokenLimits& limits) {
  auto meter = std::make_shared<Meter>(limits);
  return [meter, source = std::move(source)](std::span<char> buffer) {
    const std::size_t count = source(buffer);
    meter->measure(std::string_view(buffer.data(), count));
    return count;
  };
}

}  // namespace ridgeline::imports
