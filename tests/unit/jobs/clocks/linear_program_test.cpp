#include "jobs/clocks/linear_program.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace ridgeline::jobs {
namespace {

using Outcome = Optimum::Outcome;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

Row row(double x, double y, double bound) { return {{{{0, x}, {1, y}}}, bound}; }

TEST(LinearProgram, FindsACornerWithNegativeVariables) {
  const Optimum found = maximise({1, -2}, {row(1, 0, -3), row(0, -1, 5), row(1, 1, 10)});
  ASSERT_EQ(found.outcome, Outcome::kFound);
  EXPECT_THAT(found.variables, ElementsAre(DoubleNear(-3, 1e-9), DoubleNear(-5, 1e-9)));
  EXPECT_NEAR(found.value, 7, 1e-9);
}

TEST(LinearProgram, SaysWhenThereIsNoLargestValue) {
  EXPECT_EQ(maximise({1, 0}, {row(0, 1, 1), row(-1, 0, 1)}).outcome, Outcome::kUnbounded);
}

TEST(LinearProgram, SaysWhenRowsContradictEachOther) {
  EXPECT_EQ(maximise({1, 0}, {row(1, 0, -1), row(-1, 0, 0), row(0, 1, 1), row(0, -1, 1)}).outcome,
            Outcome::kInfeasible);
}

TEST(LinearProgram, IsTheBestOfAllCorners) {
  std::mt19937 generator(7);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 200; ++round) {
    std::vector<Row> rows = {row(1, 0, 9), row(-1, 0, 9), row(0, 1, 9), row(0, -1, 9)};
    for (int more = 0; more < 12; ++more) {
      rows.push_back(row(normal(generator), normal(generator), std::abs(normal(generator))));
    }
    const std::vector<double> gain = {normal(generator), normal(generator)};
    double best = -1e9;
    for (const Row& one : rows) {
      for (const Row& other : rows) {
        const auto [a, b] = std::pair(one.terms[0].factor, one.terms[1].factor);
        const auto [c, d] = std::pair(other.terms[0].factor, other.terms[1].factor);
        const double determinant = a * d - b * c;
        if (std::abs(determinant) < 1e-9) {
          continue;
        }
        const double x = (one.bound * d - b * other.bound) / determinant;
        const double y = (a * other.bound - one.bound * c) / determinant;
        bool inside = true;
        for (const Row& each : rows) {
          inside = inside && each.terms[0].factor * x + each.terms[1].factor * y <= each.bound + 1e-7;
        }
        if (inside) {
          best = std::max(best, gain[0] * x + gain[1] * y);
        }
      }
    }
    const Optimum found = maximise(gain, rows);
    ASSERT_EQ(found.outcome, Outcome::kFound) << round;
    EXPECT_NEAR(found.value, best, 1e-6) << round;
  }
}

}  // namespace
}  // namespace ridgeline::jobs
