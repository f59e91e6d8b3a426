#include "base/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::base {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string times(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

std::string parse_error(const std::string& text) {
  const auto document = parse_toml(text, "p.toml");
  return document ? "accepted" : document.error().message();
}

std::string value_of(const std::string& text) {
  const auto document = parse_toml(text, "p.toml");
  return document ? (*document)["x"].value_or<std::string>("no text") : document.error().message();
}

TEST(Toml, DeepKeysAreRefusedBeforeTheLibraryRecurses) {
  const std::string deep = times(200'000, "a.") + "a";
  EXPECT_THAT(parse_error("x = 1\n" + deep + " = 1\n"), StartsWith("p.toml:2:64: this key has more than 32 parts"));
  for (const char* format : {"[%]", "[[%]]", "x = {% = 1}", "x = [{% = 1}]", "% = 1", "x = '''\n'''''\n% = 1"}) {
    std::string text = format;
    EXPECT_THAT(parse_error(text.replace(text.find('%'), 1, deep)), HasSubstr("more than 32 parts")) << format;
  }
  EXPECT_THAT(parse_error(times(100, "'a' . \"b\".") + "c = 1"), HasSubstr("more than 32 parts"));
}

TEST(Toml, DeepValuesAreRefused) {
  EXPECT_THAT(parse_error("x = " + times(100'000, "[")), HasSubstr("nested deeper than 32 levels"));
  EXPECT_THAT(parse_error("x = " + times(100'000, "{a = ")), HasSubstr("nested deeper than 32 levels"));
  EXPECT_THAT(parse_error("x = " + times(100'000, "[#]\n")), HasSubstr("nested deeper than 32 levels"));
}

TEST(Toml, WhatIsLargeIsRefusedWithTheLimit) {
  EXPECT_THAT(parse_error(std::string(kMaxTomlBytes + 1, '\n')), HasSubstr("larger than 4 MiB"));
  EXPECT_THAT(parse_error("x = [" + times(kMaxTomlValues, "1,") + "]"), HasSubstr("more than 262144 values"));
}

TEST(Toml, WhatIsWithinTheBoundsIsRead) {
  const std::string keys = times(kMaxTomlKeyParts - 1, "a.") + "a";
  EXPECT_EQ(parse_error("[" + keys + "]\n" + keys + " = " + times(16, "[{" + keys + " = ") + "1" + times(16, "}]")),
            "accepted");
  EXPECT_EQ(parse_error(times(1000, "[[a.b]]\nc = [1.5, 2.5]\n")), "accepted");
  EXPECT_EQ(parse_error("\"" + times(100, "a.") + "\".'" + times(100, "b.") + "' = 1\n"), "accepted");
}

TEST(Toml, StringsAndCommentsAreNoStructure) {
  const std::string dots = times(100, ".[{");
  EXPECT_EQ(value_of("# " + dots + "\nx = \"" + dots + "\" # '" + dots), dots);
  EXPECT_EQ(value_of("x = \"\\\"" + dots + "\""), "\"" + dots);
  EXPECT_EQ(value_of("x = '\\' # " + dots), "\\");
  EXPECT_EQ(value_of("x = \"\"\"" + dots + "\"\"" + dots + "\\\"\"\"\"\"\"\n"), dots + "\"\"" + dots + "\"\"\"");
  EXPECT_EQ(value_of("x = '''\n" + dots + "'\n''" + dots + "'''''"), dots + "'\n''" + dots + "''");
  EXPECT_EQ(value_of("y = ''''''\nz = \"\"\"\"\"\"\nx = '" + dots + "'"), dots);
}

TEST(Toml, ErrorsHaveTheirPlace) {
  EXPECT_THAT(parse_error("x = 1\ny = '\n"), StartsWith("p.toml:2:"));
  EXPECT_THAT(parse_error("x = \"\"\""), StartsWith("p.toml:1:"));
  EXPECT_THAT(parse_error("]]}}\x01\xff"), StartsWith("p.toml:1:"));
}

}  // namespace
}  // namespace ridgeline::base
