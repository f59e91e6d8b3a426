#include "analysis/compare/line_pairs.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/analysis/compare/profiles.h"

namespace ridgeline::analysis {
namespace {

using testing::line;
using ::testing::UnorderedElementsAre;

/// "same 1-2", "added -3", with the numbers of the lines.
std::vector<std::string> pairs(const std::vector<LineCost>& before, const std::vector<LineCost>& after) {
  const auto number = [](const LineCost* one) { return one == nullptr ? "" : std::to_string(one->location.line); };
  std::vector<std::string> all;
  for (const LinePair& pair : pair_lines(before, after)) {
    all.push_back(std::string(kPresenceNames.at(static_cast<std::size_t>(pair.presence))) + " " + number(pair.before) +
                  "-" + number(pair.after));
  }
  return all;
}

TEST(LinePairs, FollowLinesThatWereShifted) {
  EXPECT_THAT(pairs({line(1, "a", 1), line(2, "b", 1)}, {line(1, "new", 1), line(11, "a", 1), line(12, "b", 1)}),
              UnorderedElementsAre("same 1-11", "same 2-12", "added -1"));
}

TEST(LinePairs, TellEqualLinesApartByTheirOrder) {
  EXPECT_THAT(pairs({line(1, "x = relu(x)", 1), line(5, "x = relu(x)", 1)},
                    {line(3, "x = relu(x)", 1), line(7, "x = relu(x)", 1)}),
              UnorderedElementsAre("same 1-3", "same 5-7"));
}

TEST(LinePairs, SeeAnEditedLineBetweenItsNeighbours) {
  EXPECT_THAT(pairs({line(1, "a", 1), line(2, "y = slow(x)", 1), line(3, "b", 1)},
                    {line(1, "a", 1), line(2, "y = fast(x)", 1), line(3, "b", 1)}),
              UnorderedElementsAre("same 1-1", "edited 2-2", "same 3-3"));
}

TEST(LinePairs, SeeAMovedLineAlsoInAnotherFile) {
  EXPECT_THAT(pairs({line(1, "a", 1), line(2, "b", 1)}, {line(1, "b", 1), line(9, "a", 1, 0, "other.py")}),
              UnorderedElementsAre("same 2-1", "moved 1-9"));
}

TEST(LinePairs, FallBackToNumbersWhereTextsAreUnknown) {
  EXPECT_THAT(pairs({line(1, "", 1), line(2, "", 1)}, {line(2, "b", 1), line(3, "c", 1)}),
              UnorderedElementsAre("same 2-2", "removed 1-", "added -3"));
}

}  // namespace
}  // namespace ridgeline::analysis
