#include "report/units.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMib = 1024.0 * 1024;

template <typename Function>
void expect_each(Function&& format, const std::vector<std::pair<double, std::string>>& cases) {
  for (const auto& [value, text] : cases) EXPECT_EQ(format(value), text) << "of " << value;
}

TEST(Duration, ClimbsUnitsAtThreeDigits) {
  expect_each(duration, {{0, "0 ms"},        {0.00001, "<0.1 µs"}, {-0.00001, "<0.1 µs"}, {-0.002, "-2.00 µs"},
                         {0.0004, "0.4 µs"}, {0.00096, "0.96 µs"}, {0.0015, "1.50 µs"},   {0.0842, "84.2 µs"},
                         {0.9994, "999 µs"}, {0.9996, "1.00 ms"},  {9.994, "9.99 ms"},    {9.996, "10.0 ms"},
                         {48.23, "48.2 ms"}, {99.96, "100 ms"},    {422.4, "422 ms"},     {999.4, "999 ms"},
                         {999.6, "1.00 s"},  {61500, "61.5 s"},    {1.2e6, "20.0 min"},   {1e7, "167 min"},
                         {1e8, "27.8 h"},    {-1.5, "-1.50 ms"},   {kNan, "–"},           {kInfinity, "–"}});
}

TEST(Bytes, AreBinaryAndExactBelowOneKib) {
  expect_each(bytes, {{0, "0 B"},
                      {1023, "1023 B"},
                      {1024, "1.00 KiB"},
                      {999.4 * 1024, "999 KiB"},
                      {1000 * 1024, "0.98 MiB"},
                      {97.49 * kMib, "97.5 MiB"},
                      {0.4 * 1024 * kMib, "410 MiB"},
                      {1.84 * 1024 * kMib, "1.84 GiB"},
                      {2048 * kMib * 1024, "2.00 TiB"},
                      {18446744073709551615.0, "16400 PiB"},
                      {-1, "–"},
                      {kNan, "–"}});
}

TEST(Share, HasADecimalBelowTen) {
  expect_each(share, {{0, "0 %"},
                      {0.0001, "<0.1 %"},
                      {0.0004, "<0.1 %"},
                      {0.0005, "0.1 %"},
                      {0.0042, "0.4 %"},
                      {0.052, "5.2 %"},
                      {0.0994, "9.9 %"},
                      {0.0996, "10 %"},
                      {0.36, "36 %"},
                      {0.9996, "100 %"},
                      {1.82, "182 %"},
                      {12, ">999 %"},
                      {-0.02, "-2.0 %"},
                      {kNan, "–"}});
}

TEST(Figure, HasThreeDigits) {
  expect_each(figure, {{0, "0.00"},
                       {0.973, "0.97"},
                       {37.94, "37.9"},
                       {999.4, "999"},
                       {1234, "1230"},
                       {380047.5, "380000"},
                       {1.234e6, "1.23e+06"},
                       {-2.5, "-2.50"},
                       {kNan, "–"}});
}

TEST(Count, StaysNarrow) {
  expect_each(count, {{0, "0"},
                      {99999, "99999"},
                      {100000, "100k"},
                      {999400, "999k"},
                      {2.5e6, "2.5M"},
                      {123456789, "123M"},
                      {1.2e9, "1e+09"}});
}

TEST(Bar, DrawsEighths) {
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(0.53125, 4), "██▏");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(7, 4), "████");
  EXPECT_EQ(bar(-1, 4), "");
  EXPECT_EQ(bar(kNan, 4), "");
}

TEST(Printable, DisarmsControlsAndInvalidText) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"layer1.conv", "layer1.conv"},
      {"日本 é", "日本 é"},
      {"a\tb\nc", "a b c"},
      {"\x1b[31mred", "\uFFFD[31mred"},
      {"\u009B31m", "\uFFFD31m"},
      {"bell\a del\x7f", "bell\uFFFD del\uFFFD"},
      {"\u202Eesrever", "\uFFFDesrever"},
      {"cut \xE6\x97", "cut \uFFFD\uFFFD"},
      {"overlong \xC0\xAF", "overlong \uFFFD\uFFFD"},
      {"surrogate \xED\xA0\x80", "surrogate \uFFFD\uFFFD\uFFFD"},
      {std::string("nul\0!", 5), "nul\uFFFD!"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(printable(text), expected);
}

TEST(Columns, CountWhatATerminalShows) {
  EXPECT_EQ(columns("abc"), 3);
  EXPECT_EQ(columns("│  ├─ "), 6);
  EXPECT_EQ(columns("日本"), 4);
  EXPECT_EQ(columns("e\u0301"), 1);
  EXPECT_EQ(columns("🚀"), 2);
  EXPECT_EQ(columns("\xFF"), 1);
  EXPECT_EQ(columns("\u231A \u2B50"), 5) << "wide outside of the blocks of emoji";
  EXPECT_EQ(columns("\u0BCD\u094D"), 0) << "combining marks of Tamil and Devanagari";
}

TEST(Clip, KeepsWholeCharacters) {
  EXPECT_EQ(clip("conv2", 5), "conv2");
  EXPECT_EQ(clip("conv2d", 5), "conv…");
  EXPECT_EQ(clip("ab cd", 4), "ab…");
  EXPECT_EQ(clip("日本語", 5), "日本…");
  EXPECT_EQ(clip("日本語", 4), "日…");
  EXPECT_EQ(clip("ab", 1), "…");
  EXPECT_EQ(clip("ab", 0), "");
  EXPECT_EQ(clip_front("src/models/resnet.py:42", 13), "…resnet.py:42");
  EXPECT_EQ(clip_front("日本語", 4), "…語");
  EXPECT_EQ(clip_front("a.py:1", 6), "a.py:1");
}

TEST(Pad, CountsColumns) {
  EXPECT_EQ(left("日", 4), "日  ");
  EXPECT_EQ(right("µs", 4), "  µs");
  EXPECT_EQ(right("long", 2), "long");
}

}  // namespace
}  // namespace ridgeline::report
