// Texts that parsers take long for, drawn from a seed.
#pragma once

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace ridgeline::source {

inline std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) {
    text += part;
  }
  return text;
}

/// `count` assignments below a bracket that is not closed.
inline std::string below_open_bracket(std::size_t count) {
  std::string text = "broken = call(\n";
  for (std::size_t i = 0; i < count; ++i) {
    text += "x" + std::to_string(i) + " = " + std::to_string(i) + "\n";
  }
  return text;
}

/// About `bytes` of one or two kinds of lines that are each harmless, above and below what is never closed.
inline std::string adversarial(unsigned seed, std::size_t bytes) {
  constexpr auto kOpenings = std::to_array<std::string_view>(
      {"", "f(\n", "x = [\n", "{\n", "\"\"\"", "f\"{", "class A:\n", "if x:\n\tif y:\n"});
  constexpr auto kLines = std::to_array<std::string_view>(
      {"x = 1\n",       "# c\n",          "\n",   "\\\n", "(",   ")",    "[",         "f\"{", "\"",         "a+",
       "if x:\n",       "def f(x): y\n",  "@d\n", "1, ",  "x\r", "\x80", "lambda x:", ":= ",  "   y = 2\n", "async ",
       "<a b='c'>d'\n", "{\"a\": [1]},\n"});
  std::mt19937 random(seed);
  const auto any_of = [&](const auto& choices) { return choices[random() % choices.size()]; };
  std::string text(any_of(kOpenings));
  const std::string_view first = any_of(kLines);
  const std::string_view second = any_of(kLines);
  while (text.size() < bytes) {
    text += repeated(first, 1 + random() % 64);
    text += second;
  }
  return text.append(any_of(kOpenings));
}

}  // namespace ridgeline::source
