#include "assistant/answer_text.h"

#include <fmt/format.h>

#include "protocol/shown_text.h"
#include "report/units.h"

namespace ridgeline::assistant {

namespace {

/// At most so many bytes, without a character that is cut.
std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) {
    return text;
  }
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) {
    --most;
  }
  return text.substr(0, most) + "…";
}

}  // namespace

std::string in_quotes(std::string_view text, std::size_t most) {
  std::string inside;
  for (const char letter : shortened(protocol::printable(text.substr(0, 4 * most)), most)) {
    if (letter == '"' || letter == '\\') {
      inside += '\\';
    }
    inside += letter;
  }
  return "\"" + inside + "\"";
}

std::string quoted_lines(std::string_view text, std::size_t most) {
  if (text.size() > most) {  // the end says most
    text.remove_prefix(text.size() - most);
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  }
  std::string lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    lines += "| " + shortened(protocol::printable(line), 240) + "\n";
  }
  return lines;
}

Json figure(const Json& value, const Json& low, const Json& high, const char* unit, const char* kind) {
  return value.is_null() ? Json()
                         : Json{{"value", value}, {"low", low}, {"high", high}, {"unit", unit}, {"kind", kind}};
}

std::string milliseconds_text(const Json& value, const Json& low, const Json& high, const char* kind) {
  return low.is_null() || high.is_null()
             ? fmt::format("{} ({})", ms_text(value), kind)
             : fmt::format("{} (95 % interval {} to {}, {})", ms_text(value), ms_text(low), ms_text(high), kind);
}

std::string speed_text(const Json& speed_up) {
  return fmt::format("{:.2f}× as fast ({:.2f}–{:.2f})", speed_up.at("value").get<double>(),
                     speed_up.at("low").get<double>(), speed_up.at("high").get<double>());
}

std::string share_text(const Json& value) { return value.is_number() ? report::share(value) : "unknown"; }
std::string bytes_text(const Json& value) { return value.is_number() ? report::bytes(value) : "unknown"; }
std::string ms_text(const Json& value) { return value.is_number() ? report::duration(value) : "unknown"; }
std::string number_text(const Json& value) { return value.is_number() ? report::figure(value) : "unknown"; }

std::string place_text(const std::string& file, const Json& line) {
  return line.is_number() ? fmt::format("{}:{}", in_quotes(file), line.get<std::int64_t>() + 1) : in_quotes(file);
}

}  // namespace ridgeline::assistant
