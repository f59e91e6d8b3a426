#include "ingest/read_trace.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ingest/damaged_event.h"
#include "ingest/file_format.h"
#include "ingest/import_error.h"
#include "ingest/json_string.h"
#include "ingest/text_window.h"
#include "ingest/trace_handler.h"

namespace ridgeline::ingest {

namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";           ///< of UTF-8, at the front
constexpr std::size_t kFirstBytes = 512;                     ///< that tell what a file is
constexpr std::size_t kLongestHead = std::size_t{4} << 20U;  ///< of no event, before the first
constexpr std::size_t kLookAhead = 256;                      ///< what shows whether an event begins

std::string size_of(std::size_t bytes) {
  constexpr std::size_t kMebi = std::size_t{1} << 20U;
  return bytes % kMebi == 0 ? std::to_string(bytes / kMebi) + " MiB" : std::to_string(bytes) + " bytes";
}

/// Reads what is JSON, without recursion, and goes on at the next event behind what is not.
class TraceReader {
 public:
  TraceReader(ByteSource source, const TraceLimits& limits, const Compression& compression)
      : text_(std::move(source)), limits_(limits), compression_(compression), handler_(limits) {}

  Trace run() {
    begin();
    Outcome outcome = read();
    while (outcome == Outcome::kDamaged) {
      note(text_.position());
      if (!recover()) {
        break;
      }
      outcome = read();
    }
    if (outcome == Outcome::kEnded) {
      end_early();
    } else if (outcome == Outcome::kDamaged) {
      const std::size_t last = text_.behind().find_last_not_of(" \t\r\n");
      damage_.is_cut_off = is_archive_damaged() || last == std::string_view::npos || text_.behind()[last] != '}';
    } else if (text_.peek_behind_blanks(); !text_.is_over()) {
      note(text_.position());
      damage_.has_more = true;
    }
    if (damage_.places > 0 && !handler_.has_events()) {
      throw ImportError("The trace is not valid JSON " + damage_.first + ", and no event of it can be read.");
    }
    damage_.is_archive_damaged = is_archive_damaged();
    damage_.has_more = damage_.has_more || compression_ == Compression::kMoreBehind;
    Trace trace = handler_.take();
    damage_.not_utf8 = trace.damage.not_utf8;
    damage_.unpaired = trace.damage.unpaired;
    trace.damage = std::move(damage_);
    return trace;
  }

 private:
  enum class Outcome : std::uint8_t { kWhole, kDamaged, kEnded };
  enum class Expected : std::uint8_t { kValue, kMember, kNext };

  void begin() {
    while (text_.ahead().size() < kFirstBytes && text_.fill()) {
    }
    if (text_.is_over()) {
      throw ImportError(is_archive_damaged()
                            ? "The trace ends too early: its compressed data is cut off or damaged at its beginning."
                            : "The file is empty: the trace was not written, or not copied.");
    }
    if (const auto what = foreign_format(text_.ahead().substr(0, kFirstBytes)); what.has_value()) {
      throw ImportError(*what);
    }
    text_.advance(text_.ahead().starts_with(kMark) ? kMark.size() : 0);
    is_list_ = text_.peek_behind_blanks() == '[';
  }

  /// From where the text is, with the objects and lists that are open, to the end of the trace or to what is not JSON.
  Outcome read() {
    while (true) {
      const char byte = text_.peek_behind_blanks();
      if (byte == '\0') {
        return text_.is_over() ? Outcome::kEnded : Outcome::kDamaged;
      }
      if (text_.position() - last_token_ > limits_.tokens.gap_bytes) {
        refuse("stretch of blanks or brackets", limits_.tokens.gap_bytes, last_token_,
               "remove it (jq -c . does so with blanks), or record the trace again");
      }
      if (is_blank(byte)) {
        continue;
      }
      const bool good = expected_ == Expected::kValue    ? read_value(byte)
                        : expected_ == Expected::kMember ? read_member(byte)
                                                         : read_next(byte);
      if (!good) {
        return text_.is_over() ? Outcome::kEnded : Outcome::kDamaged;
      }
      if (handler_.depth() == 0) {
        return Outcome::kWhole;
      }
    }
  }

  bool read_member(char byte) {
    if (byte == '"') {
      std::string_view name;
      if (!read_string(name)) {
        return false;
      }
      handler_.key(name);
      if (text_.peek_behind_blanks() != ':') {
        return false;
      }
      text_.advance(1);
      expected_ = Expected::kValue;
      return true;
    }
    return byte == ',' ? skip() : byte == '}' && close(byte);
  }

  bool read_value(char byte) {
    switch (byte) {
      case '"': {
        std::string_view value;
        if (!read_string(value)) {
          return false;
        }
        handler_.string(value);
        expected_ = Expected::kNext;
        return true;
      }
      case '{':
        if (handler_.is_in_events()) {
          text_.keep();
        }
        text_.advance(1);
        handler_.start_object();
        expected_ = Expected::kMember;
        return true;
      case '[':
        text_.advance(1);
        handler_.start_array();
        return true;
      case ']':
        return close(byte);
      case ',':  // one too many
        return handler_.is_in_list() && skip();
      case '}':
      case ':':
        return false;
      default:
        return read_word();
    }
  }

  bool read_next(char byte) {
    if (byte == ',') {
      expected_ = handler_.is_in_list() ? Expected::kValue : Expected::kMember;
      return skip();
    }
    if (byte == '{' && handler_.is_in_events()) {  // without a comma before it
      expected_ = Expected::kValue;
      return true;
    }
    return close(byte);
  }

  bool skip() {
    text_.advance(1);
    return true;
  }

  bool close(char byte) {
    const bool is_list = handler_.is_in_list();
    if (byte != (is_list ? ']' : '}')) {
      return false;
    }
    text_.advance(1);
    if (is_list) {
      handler_.end_array();
    } else {
      handler_.end_object();
    }
    if (handler_.is_in_events()) {
      text_.forget();
    }
    expected_ = Expected::kNext;
    return true;
  }

  /// At its quote. The text is valid until more is read. A string may go over several lines, though JSON forbids it.
  bool read_string(std::string_view& text) {
    bool is_escaped = false;
    std::size_t size = 1;
    while (true) {
      const std::string_view held = text_.ahead();
      while (size < held.size() && held[size] != '"' && held[size] != '\\' && held[size] != '\0') {
        ++size;
      }
      const bool is_backslash = size < held.size() && held[size] == '\\';
      if (size > limits_.tokens.string_bytes + 1) {
        refuse("string", limits_.tokens.string_bytes, text_.position(), "shorten it, or record the trace again");
      }
      if (size < held.size() && !is_backslash) {
        break;
      }
      if (is_backslash && size + 1 < held.size()) {
        is_escaped = true;
        size += 2;
      } else if (!text_.fill()) {
        text_.advance(text_.ahead().size());
        return false;
      }
    }
    const std::string_view raw = text_.ahead().substr(1, size - 1);
    if (text_.ahead()[size] != '"') {
      text_.advance(size);
      return false;
    }
    text = raw;
    if (is_escaped) {
      if (!unescape(raw, unescaped_)) {
        return false;
      }
      text = unescaped_;
    }
    text_.advance(size + 1);
    last_token_ = text_.position();
    return true;
  }

  /// A number or a constant, whether of JSON or not.
  bool read_word() {
    const auto is_behind = [](char byte) { return byte == '\0' || std::strchr(" \t\r\n,:[]{}\"", byte) != nullptr; };
    std::size_t size = 0;
    do {
      const std::string_view held = text_.ahead();
      while (size < held.size() && !is_behind(held[size])) {
        ++size;
      }
      if (size > limits_.tokens.number_bytes) {
        refuse("number", limits_.tokens.number_bytes, text_.position(), "record the trace again");
      }
    } while (size == text_.ahead().size() && text_.fill());
    const std::string_view word = text_.ahead().substr(0, size);
    const auto number = number_of(word);
    if (number.has_value()) {
      last_token_ = text_.position() + size;
      handler_.number(*number);
    } else if (handler_.depth() == 0) {
      return false;
    } else {
      handler_.constant(word);
    }
    text_.advance(size);
    expected_ = Expected::kNext;
    return true;
  }

  /// Makes the best of the event that is damaged, if it is one, and finds where to go on. False: there is nothing.
  bool recover() {
    const bool in_event = handler_.is_in_event();
    const std::uint64_t begin = text_.keeps() ? text_.kept_from() : text_.position();
    text_.go_to(begin + (text_.keeps() ? 1 : 0));
    const bool is_followed = find_event();
    const std::uint64_t next = text_.position();
    const bool is_repaired = text_.keeps() && repair(begin, next, is_followed);
    if (!is_repaired) {
      text_.go_to(next);
      handler_.return_to_events(!is_list_);
    }
    damage_.repaired += is_repaired ? 1 : 0;
    damage_.lost += in_event && !is_repaired ? 1 : 0;
    text_.forget();
    expected_ = is_repaired ? Expected::kNext : Expected::kValue;
    last_token_ = text_.position();
    return is_repaired || is_followed;
  }

  /// The text from `begin` to `next` is held. Where it has an event that can be told, the text is then behind that.
  bool repair(std::uint64_t begin, std::uint64_t next, bool is_followed) {
    handler_.return_to_events(!is_list_);
    text_.go_to(begin);
    const auto size = static_cast<std::size_t>(next - begin);
    const auto taken = read_damaged_event(text_.ahead().substr(0, size), is_followed, handler_);
    text_.advance(taken.value_or(0));
    return taken.has_value();
  }

  /// Goes to where the next event begins. False: there is none; the text is then at its end.
  bool find_event() {
    const std::uint64_t from = text_.position();
    while (handler_.has_events() || text_.position() - from < kLongestHead) {
      const std::size_t brace = text_.ahead().find('{');
      if (brace == std::string_view::npos) {
        text_.advance(text_.ahead().size());
        if (!text_.fill()) {
          return false;
        }
        continue;
      }
      text_.advance(brace);
      while (text_.ahead().size() < kLookAhead && text_.fill()) {
      }
      const std::size_t before = text_.behind().find_last_not_of(" \t\r\n");
      const bool is_value = before != std::string_view::npos && text_.behind()[before] == ':';
      if (!is_value && begins_event(text_.ahead().substr(0, kLookAhead))) {
        return true;
      }
      text_.advance(1);
    }
    return false;
  }

  void note(std::uint64_t position) {
    if (damage_.places++ == 0) {
      damage_.first = text_.place(position);
    }
  }

  /// The text ended where more should have come.
  void end_early() {
    if (!handler_.has_events() && damage_.places == 0) {
      throw ImportError(
          "The trace ends too early, " + text_.place(text_.position()) + ", before any event was whole" +
          (is_archive_damaged() ? ": its compressed data is cut off or damaged." : ": its last part is missing."));
    }
    note(text_.position());
    damage_.lost += handler_.is_in_event() ? 1U : 0U;
    damage_.is_cut_off = true;
  }

  bool is_archive_damaged() const {
    return compression_ == Compression::kCutOff || compression_ == Compression::kDamaged;
  }

  [[noreturn]] void refuse(const char* what, std::size_t limit, std::uint64_t position, const char* advice) {
    throw ImportError(std::string("The trace has a ") + what + " longer than " + size_of(limit) + " " +
                      text_.place(position) + ": " + advice + ".");
  }

  TextWindow text_;
  const TraceLimits& limits_;
  const Compression& compression_;
  TraceHandler handler_;
  Expected expected_ = Expected::kValue;
  std::uint64_t last_token_ = 0;  ///< where the last string or number begins
  std::string unescaped_;
  bool is_list_ = false;  ///< the trace is a list of events, and not an object that has one
  TraceDamage damage_;
};

}  // namespace

Trace read_trace(ByteSource source, const TraceLimits& limits) {
  Compression compression = Compression::kNone;
  return TraceReader(decompressed(std::move(source), limits.file_bytes, &compression), limits, compression).run();
}

}  // namespace ridgeline::ingest
