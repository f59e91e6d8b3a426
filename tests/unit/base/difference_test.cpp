#include "base/difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ridgeline::base {
namespace {

using Tokens = std::vector<std::uint64_t>;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// The length of the longest common subsequence, by the textbook's table.
std::size_t common_length(const Tokens& a, const Tokens& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

TEST(CommonSubsequence, PairsEqualSequencesOneToOne) {
  const Tokens a = {5, 5, 7};
  EXPECT_EQ(common_subsequence(a, a, 0), (Pairs{{0, 0}, {1, 1}, {2, 2}}));
}

TEST(CommonSubsequence, SkipsWhatOnlyOneHas) {
  const Tokens a = {1, 2, 3, 4};
  const Tokens b = {1, 9, 2, 4, 8};
  EXPECT_EQ(common_subsequence(a, b, 3), (Pairs{{0, 0}, {1, 2}, {3, 3}}));
}

TEST(CommonSubsequence, EmptySequencesShareNothing) {
  EXPECT_EQ(common_subsequence({}, {}, 0), Pairs{});
  EXPECT_EQ(common_subsequence(Tokens{1, 2}, {}, 2), Pairs{});
  EXPECT_EQ(common_subsequence({}, Tokens{1, 2}, 2), Pairs{});
}

TEST(CommonSubsequence, GivesUpBeyondTheBound) {
  const Tokens a = {1, 2, 3};
  const Tokens b = {4, 5, 6};
  EXPECT_EQ(common_subsequence(a, b, 5), std::nullopt);
  EXPECT_EQ(common_subsequence(a, b, 6), Pairs{});
}

TEST(CommonSubsequence, FindsTheLongestOfRandomSequences) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const auto draw = [&] {
      Tokens tokens(random() % 20);
      std::ranges::generate(tokens, [&] { return random() % 4; });
      return tokens;
    };
    const Tokens a = draw();
    const Tokens b = draw();
    const auto pairs = common_subsequence(a, b, 40);
    ASSERT_TRUE(pairs.has_value());
    EXPECT_EQ(pairs->size(), common_length(a, b));
    for (std::size_t i = 0; i < pairs->size(); ++i) {
      const auto& [x, y] = (*pairs)[i];
      ASSERT_TRUE(x < a.size() && y < b.size());
      EXPECT_EQ(a[x], b[y]);
      EXPECT_TRUE(i == 0 || ((*pairs)[i - 1].first < x && (*pairs)[i - 1].second < y));
    }
  }
}

}  // namespace
}  // namespace ridgeline::base
