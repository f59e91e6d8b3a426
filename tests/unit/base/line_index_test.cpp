#include "base/line_index.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace ridgeline::base {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  const LineIndex index(text);
  std::vector<std::string> lines;
  for (std::size_t line = 0; line < index.count(); ++line) {
    lines.emplace_back(index.line_in(text, line));
  }
  return lines;
}

std::vector<std::size_t> starts_of(const LineIndex& index) {
  std::vector<std::size_t> starts;
  for (std::size_t line = 0; line < index.count(); ++line) {
    starts.push_back(index.start_of(line));
  }
  return starts;
}

using Strings = std::vector<std::string>;

TEST(LineIndex, EndsLinesAsPythonDoes) {
  EXPECT_EQ(lines_of(""), (Strings{""}));
  EXPECT_EQ(lines_of("a"), (Strings{"a"}));
  EXPECT_EQ(lines_of("a\n"), (Strings{"a", ""}));
  EXPECT_EQ(lines_of("a\r\nb\rc\nd"), (Strings{"a", "b", "c", "d"}));
  EXPECT_EQ(lines_of("\r\r\n\n\r"), (Strings{"", "", "", "", ""}));
  EXPECT_EQ(lines_of("a\fb\vc\xe2\x80\xa8"), (Strings{"a\fb\vc\xe2\x80\xa8"}));
}

TEST(LineIndex, FindsTheLineOfAnOffset) {
  const LineIndex index("ab\r\nc\n");
  EXPECT_EQ(index.line_of(0), 0);
  EXPECT_EQ(index.line_of(3), 0);
  EXPECT_EQ(index.line_of(4), 1);
  EXPECT_EQ(index.line_of(6), 2);
  EXPECT_EQ(index.line_of(600), 2);
}

TEST(LineIndex, FollowsAnyEdit) {
  std::mt19937 random(11);
  const auto draw = [&](std::size_t longest) {
    std::string text(random() % (longest + 1), ' ');
    for (char& byte : text) {
      byte = "\r\n\nab"[random() % 5];
    }
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    std::string text = draw(12);
    LineIndex index(text);
    for (int edit = 0; edit < 3; ++edit) {
      const std::size_t begin = random() % (text.size() + 1);
      const std::size_t end = begin + random() % (text.size() - begin + 1);
      const std::string replacement = draw(4);
      text.replace(begin, end - begin, replacement);
      index.replace(begin, end, replacement.size(), text);
      ASSERT_EQ(starts_of(index), starts_of(LineIndex(text)));
    }
  }
}

}  // namespace
}  // namespace ridgeline::base
