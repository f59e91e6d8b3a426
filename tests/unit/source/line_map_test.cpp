#include "source/line_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace ridgeline::source {
namespace {

constexpr std::size_t kGone = static_cast<std::size_t>(-1);

/// The map, kGone for lines that are gone.
std::vector<std::size_t> mapped(std::string_view before, std::string_view after) {
  std::vector<std::size_t> lines;
  for (const auto& line : line_map(before, after)) {
    lines.push_back(line.value_or(kGone));
  }
  return lines;
}

using Lines = std::vector<std::size_t>;

std::string joined(const std::vector<int>& lines) {
  std::string text;
  for (const int line : lines) {
    text += (text.empty() ? "" : "\n") + std::to_string(line);
  }
  return text;
}

/// Every line is mapped to an equal one, in order; the number of lines that are.
std::size_t checked(const std::vector<int>& before, const std::vector<int>& after) {
  const auto map = line_map(joined(before), joined(after));
  EXPECT_EQ(map.size(), before.size());
  std::size_t count = 0;
  std::size_t next = 0;
  for (std::size_t line = 0; line < map.size(); ++line) {
    if (map[line].has_value()) {
      EXPECT_GE(*map[line], next);
      EXPECT_EQ(after.at(*map[line]), before[line]);
      next = *map[line] + 1;
      ++count;
    }
  }
  return count;
}

/// The length of the longest common subsequence, by the textbook's table.
std::size_t in_common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

TEST(LineMap, FollowsLinesThatMove) {
  EXPECT_EQ(mapped("a\nb\nc", "a\nb\nc"), (Lines{0, 1, 2}));
  EXPECT_EQ(mapped("a\nb\nc", "x\na\ny\nb\nc"), (Lines{1, 3, 4}));
  EXPECT_EQ(mapped("a\nb\nc", "a\nc"), (Lines{0, kGone, 1}));
  EXPECT_EQ(mapped("a\nb\nc\n", "a\nB\nc\n"), (Lines{0, kGone, 2, 3}));
  EXPECT_EQ(mapped("a\n\n\nb", "a\n\nb"), (Lines{0, 1, kGone, 2}));
  EXPECT_EQ(mapped("", ""), (Lines{0}));
  EXPECT_EQ(mapped("a", ""), (Lines{kGone}));
}

TEST(LineMap, SpaceCountsAndEndsOfLinesDoNot) {
  EXPECT_EQ(mapped("a\nb\nc", "a\nb \nc"), (Lines{0, kGone, 2}));
  EXPECT_EQ(mapped("a\nb\nc", "a\n\tb\nc"), (Lines{0, kGone, 2}));
  EXPECT_EQ(mapped("a\nb\nc", "a\r\nb\rc\r\n"), (Lines{0, 1, 2}));
}

TEST(LineMap, KeepsAsManyLinesAsThereCanBe) {
  std::mt19937 random(5);
  const auto draw = [&] {
    std::vector<int> lines(1 + random() % 14);
    std::ranges::generate(lines, [&] { return static_cast<int>(random() % 4); });
    return lines;
  };
  for (int round = 0; round < 3000; ++round) {
    const auto before = draw();
    const auto after = draw();
    // The first and last lines that are equal are kept first: that is never worse.
    EXPECT_EQ(checked(before, after), in_common(before, after)) << joined(before) << "\n--\n" << joined(after);
  }
}

TEST(LineMap, KeepsWhatIsUniqueWhenMuchIsDifferent) {
  std::vector<int> before;
  std::vector<int> after;
  for (int i = 0; i < 5000; ++i) {
    before.insert(before.end(), {i, -1});
    after.insert(after.end(), {i, -1, 100'000 + i});
  }
  before.insert(before.begin() + 100, 7);
  EXPECT_GT(checked(before, after), 9990);
}

TEST(LineMap, NothingIsQuadratic) {
  std::mt19937 random(6);
  std::vector<int> before(200'000);
  std::vector<int> after(200'000);
  std::ranges::generate(before, [&] { return static_cast<int>(random() % 1000); });
  std::ranges::generate(after, [&] { return static_cast<int>(random() % 1000); });
  checked(before, after);
  std::ranges::generate(before, [next = 0]() mutable { return next++; });
  after = before;
  std::ranges::shuffle(after, random);
  EXPECT_GT(checked(before, after), 500);  // the longest ascending sequence of a shuffle is about 2 √n
}

}  // namespace
}  // namespace ridgeline::source
