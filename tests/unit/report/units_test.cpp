#include "report/units.h"

#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "expected.h"
#include "report/json_reader.h"
#include "report/model_fields.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Function>
void expect_each(Function&& format, const std::vector<std::pair<double, std::string>>& cases) {
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(format(value), text) << "of " << value;
  }
}

/// The rules that the editors follow, too: each pair of tests/data/figures.json is a value and its text; null is NaN.
class Figures : public ::testing::Test {
 protected:
  static nlohmann::json vectors(const char* rule) {
    std::ifstream file(testing::expected_path("../figures.json"));
    return nlohmann::json::parse(file).at(rule);
  }

  template <typename Function>
  static void expect_vectors(const char* rule, Function&& format) {
    const nlohmann::json cases = vectors(rule);
    EXPECT_GE(cases.size(), 7U);
    for (const auto& pair : cases) {
      const double value = pair[0].is_null() ? kNan : pair[0].get<double>();
      EXPECT_EQ(format(value), pair[1].get<std::string>()) << rule << " of " << value;
    }
  }
};

TEST_F(Figures, HaveThreeDigits) { expect_vectors("figure", figure); }
TEST_F(Figures, DurationsChangeUnitsAtThreeDigits) { expect_vectors("duration", duration); }
TEST_F(Figures, BytesAreBinaryAndExactBelowOneKib) { expect_vectors("bytes", bytes); }
TEST_F(Figures, SharesHaveADecimalBelowTen) { expect_vectors("share", share); }

TEST_F(Figures, AreUnknownWhenNotFinite) {
  for (const auto format : {figure, duration, bytes, share}) {
    EXPECT_EQ(format(kInfinity), "–");
  }
}

TEST_F(Figures, FiguresOfModelsSayHowCertainTheyAre) {
  for (const auto& pair : vectors("estimatedBytes")) {
    analysis::Estimate estimate;
    const nlohmann::json wrapped = {{"estimate", pair[0]}};
    Reader reader(wrapped);
    reader("estimate", estimate, "");
    std::string text = estimated(estimate, bytes);
    // A no-break space, which pages replace when their lines are laid out.
    if (const auto space = text.find("\u00A0"); space != std::string::npos) {
      text.replace(space, 2, " ");
    }
    EXPECT_EQ(text, pair[1].get<std::string>()) << pair;
  }
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
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(printable(text), expected);
  }
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
