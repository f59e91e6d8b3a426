#include "report/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>
#include <utf8proc.h>

namespace ridgeline::report {
namespace {

constexpr std::string_view kUnknown = "–";

/// In a terminal, by Unicode's East Asian Width (UAX 11) and general categories.
int columns_of(char32_t code) { return utf8proc_charwidth(static_cast<utf8proc_int32_t>(code)); }

struct Unit {
  const char* name;
  double next;  ///< how many of this make one of the next
};

/// Climbs to the first unit in which three digits are enough.
template <std::size_t N>
std::string in_units(double value, const std::array<Unit, N>& units) {
  std::size_t i = 0;
  for (; i + 1 < N && value >= 999.5; ++i) {
    value /= units[i].next;
  }
  return figure(value) + " " + units[i].name;
}

}  // namespace

std::string figure(double value) {
  if (!std::isfinite(value)) {
    return std::string(kUnknown);
  }
  if (value < 0) {
    return "-" + figure(-value);
  }
  if (value >= 999500) {
    return fmt::format("{:.3g}", value);
  }
  if (value >= 999.5) {
    const double step = std::pow(10, std::floor(std::log10(value)) - 2);
    return fmt::format("{:.0f}", std::round(value / step) * step);
  }
  return fmt::format("{:.{}f}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

std::string duration(double milliseconds) {
  static constexpr std::array<Unit, 5> kUnits = {{{"µs", 1000}, {"ms", 1000}, {"s", 60}, {"min", 60}, {"h", 1}}};
  if (!std::isfinite(milliseconds)) {
    return std::string(kUnknown);
  }
  if (milliseconds == 0) {
    return "0 ms";
  }
  const double microseconds = milliseconds * 1000;
  if (std::abs(microseconds) < 0.05) {
    return "<0.1 µs";
  }
  if (milliseconds < 0) {
    return "-" + duration(-milliseconds);
  }
  if (microseconds < 0.95) {
    return fmt::format("{:.1f} µs", microseconds);
  }
  return in_units(microseconds, kUnits);
}

std::string bytes(double count) {
  static constexpr std::array<Unit, 5> kUnits = {
      {{"KiB", 1024}, {"MiB", 1024}, {"GiB", 1024}, {"TiB", 1024}, {"PiB", 1}}};
  if (!std::isfinite(count) || count < 0) {
    return std::string(kUnknown);
  }
  if (count < 1023.5) {
    return fmt::format("{:.0f} B", count);
  }
  return in_units(count / 1024, kUnits);
}

std::string energy(double joules) {
  static constexpr std::array<Unit, 4> kUnits = {{{"mJ", 1000}, {"J", 1000}, {"kJ", 1000}, {"MJ", 1}}};
  if (!std::isfinite(joules) || joules < 0) {
    return std::string(kUnknown);
  }
  return joules == 0 ? "0 J" : in_units(joules * 1000, kUnits);
}

std::string share(double fraction) {
  const double percent = fraction * 100;
  if (!std::isfinite(percent)) {
    return std::string(kUnknown);
  }
  if (percent < 0) {
    return "-" + share(-fraction);
  }
  if (percent == 0) {
    return "0 %";
  }
  if (percent < 0.05) {
    return "<0.1 %";
  }
  if (percent >= 999.5) {
    return ">999 %";
  }
  return fmt::format("{:.{}f} %", percent, percent < 9.95 ? 1 : 0);
}

std::string count(double value) {
  if (value < 99999.5) {
    return fmt::format("{:.0f}", value);
  }
  if (value < 999500) {
    return fmt::format("{:.0f}k", value / 1e3);
  }
  if (value < 999.5e6) {
    return fmt::format("{:.{}f}M", value / 1e6, value < 9.95e6 ? 1 : 0);
  }
  return fmt::format("{:.0e}", value);
}

std::string bar(double fraction, int cells) {
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!std::isfinite(fraction)) {
    return {};
  }
  const auto eighths = static_cast<std::size_t>(std::lround(std::clamp(fraction, 0.0, 1.0) * cells * 8));
  std::string blocks;
  for (std::size_t i = 0; i < eighths / 8; ++i) {
    blocks += "█";
  }
  return blocks + kEighths[eighths % 8];
}

int columns(std::string_view text) {
  int sum = 0;
  while (!text.empty()) {
    const protocol::Character character = protocol::first_character(text);
    sum += columns_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return sum;
}

std::string clip(std::string_view text, int width) {
  if (columns(text) <= width) {
    return std::string(text);
  }
  if (width <= 0) {
    return {};
  }
  std::size_t end = 0;
  for (int used = 1; end < text.size();) {
    const protocol::Character character = protocol::first_character(text.substr(end));
    used += columns_of(character.code);
    if (used > width) {
      break;
    }
    end += character.bytes;
  }
  while (end > 0 && text[end - 1] == ' ') {
    --end;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string clip_front(std::string_view text, int width) {
  int left_over = columns(text) - width;
  if (left_over <= 0) {
    return std::string(text);
  }
  if (width <= 0) {
    return {};
  }
  for (left_over += 1; left_over > 0 && !text.empty();) {
    const protocol::Character character = protocol::first_character(text);
    left_over -= columns_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return "…" + std::string(text);
}

std::string left(std::string_view text, int width) {
  return std::string(text).append(static_cast<std::size_t>(std::max(0, width - columns(text))), ' ');
}

std::string right(std::string_view text, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - columns(text))), ' ').append(text);
}

}  // namespace ridgeline::report
