#include "ingest/damaged_event.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "ingest/json_string.h"
#include "ingest/trace_number.h"

namespace ridgeline::ingest {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kBehindWord = " \t\r\n,:[]{}\"";
constexpr std::size_t kMaxKey = 64;
constexpr int kMaxLevels = 8;

std::size_t behind_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

/// The name of a member, and where its value begins.
struct Member {
  std::string_view name;
  std::size_t value;
};

/// The member that begins at a quote.
std::optional<Member> member_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '"') {
    return std::nullopt;
  }
  const std::size_t end = text.substr(0, std::min(text.size(), at + 2 + kMaxKey)).find_first_of("\"\\\n", at + 1);
  if (end == std::string_view::npos || text[end] != '"' || end == at + 1) {
    return std::nullopt;
  }
  const std::size_t colon = behind_blanks(text, end + 1);
  if (colon >= text.size() || text[colon] != ':') {
    return std::nullopt;
  }
  return Member{text.substr(at + 1, end - at - 1), colon + 1};
}

class DamagedEvent {
 public:
  DamagedEvent(std::string_view text, bool is_followed, TraceHandler& handler)
      : text_(text), is_followed_(is_followed), handler_(handler) {}

  std::optional<std::size_t> read() { return object(0) ? std::optional(at_) : std::nullopt; }

 private:
  char next() {
    at_ = behind_blanks(text_, at_);
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool object(int level) {
    std::vector<std::string_view> seen;
    ++at_;
    handler_.start_object();
    while (true) {
      const char byte = next();
      if (byte == ',') {
        ++at_;
        continue;
      }
      const bool is_over = at_ >= text_.size();
      if (byte == '}' || byte == ']' || (is_over && is_followed_)) {
        at_ += byte == '}' ? 1 : 0;
        handler_.end_object();
        return true;
      }
      const auto member = member_at(text_, at_);
      // Two that are alike: what is left of two events, joined.
      if (!member.has_value() || std::ranges::find(seen, member->name) != seen.end()) {
        return false;
      }
      seen.push_back(member->name);
      handler_.key(member->name);
      at_ = member->value;
      if (!value(level, false)) {
        return false;
      }
    }
  }

  bool list(int level) {
    ++at_;
    handler_.start_array();
    while (true) {
      const char byte = next();
      if (byte == ',') {
        ++at_;
        continue;
      }
      if (byte == ']') {
        ++at_;
        handler_.end_array();
        return true;
      }
      if (!value(level, true)) {
        return false;
      }
    }
  }

  bool value(int level, bool in_list) {
    switch (next()) {
      case '"':
        return string(in_list);
      case '{':
        return level < kMaxLevels && object(level + 1);
      case '[':
        return level < kMaxLevels && list(level + 1);
      default:
        return word(in_list);
    }
  }

  bool word(bool in_list) {
    const std::size_t end = std::min(text_.find_first_of(kBehindWord, at_), text_.size());
    std::string text(text_.substr(at_, end - at_));
    const bool is_missing = text.empty() && !in_list && at_ < text_.size() && (text_[at_] == ',' || text_[at_] == '}');
    if ((text.empty() && !is_missing) || text.find('\0') != std::string::npos) {
      return false;
    }
    at_ = end;
    if (!in_list && !is_missing) {
      text += decimals();
    }
    if (const auto number = number_of(text); number.has_value()) {
      handler_.number(*number);
    } else {
      handler_.constant(text);
    }
    return true;
  }

  /// The decimals of a number with a comma for its point, as some languages write it.
  std::string decimals() {
    constexpr std::string_view kDigits = "0123456789";
    if (at_ + 1 >= text_.size() || text_[at_] != ',' || kDigits.find(text_[at_ + 1]) == std::string_view::npos) {
      return "";
    }
    const std::size_t end = std::min(text_.find_first_not_of(kDigits, at_ + 1), text_.size());
    const std::string_view digits = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
    return "." + std::string(digits);
  }

  bool string(bool in_list) {
    const std::size_t begin = at_ + 1;
    std::size_t quote = text_.find('"', begin);
    while (quote != std::string_view::npos && !(in_list ? ends_item(quote) : ends_value(quote))) {
      quote = text_.find('"', quote + 1);
    }
    if (quote == std::string_view::npos) {
      return false;
    }
    const std::string_view raw = text_.substr(begin, quote - begin);
    if (raw.find('\0') != std::string_view::npos) {
      return false;
    }
    std::string text;
    handler_.string(unescape(raw, text) ? std::string_view(text) : raw);
    at_ = quote + 1;
    return true;
  }

  /// Whether what follows the quote is what follows a value in a list.
  bool ends_item(std::size_t quote) const {
    const std::size_t after = behind_blanks(text_, quote + 1);
    return text_[quote - 1] != '\\' && after < text_.size() && (text_[after] == ',' || text_[after] == ']');
  }

  /// Whether what follows the quote is what follows the value of a member: another member, or the end of the object and
  /// what may be behind that.
  bool ends_value(std::size_t quote) const {
    std::size_t after = behind_blanks(text_, quote + 1);
    if (after >= text_.size()) {
      return is_followed_;
    }
    if (text_[after] == ',') {
      after = behind_blanks(text_, after + 1);
      return member_at(text_, after).has_value() || (after < text_.size() && text_[after] == '}') ||
             (after >= text_.size() && is_followed_);
    }
    if (text_[after] != '}') {
      return false;
    }
    after = behind_blanks(text_, after + 1);
    return after >= text_.size() || text_[after] == ',' || text_[after] == '}' || text_[after] == ']';
  }

  std::string_view text_;
  bool is_followed_;
  TraceHandler& handler_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::size_t> read_damaged_event(std::string_view text, bool is_followed, TraceHandler& handler) {
  return DamagedEvent(text, is_followed, handler).read();
}

bool begins_event(std::string_view text) {
  constexpr std::array kMembers = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "bp", "s"};
  if (!text.starts_with('{')) {
    return false;
  }
  const auto member = member_at(text, behind_blanks(text, 1));
  return member.has_value() && std::ranges::find(kMembers, member->name) != kMembers.end();
}

}  // namespace ridgeline::ingest
