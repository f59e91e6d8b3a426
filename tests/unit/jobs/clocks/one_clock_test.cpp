#include "jobs/clocks/one_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/jobs/replay/generated_job.h"

namespace ridgeline::jobs {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

TEST(OneClock, MovesEveryTimeToTheClockOfTheFirstMachine) {
  const auto job = testing::JobGenerator({.machines = 3, .ranks_of_machine = 2, .iterations = 100, .seed = 5}).make();
  const auto aligned = on_one_clock(job.ranks);
  ASSERT_TRUE(aligned.has_value()) << aligned.error().message();
  EXPECT_EQ(aligned->machines, (std::vector<std::string>{"machine0", "machine1", "machine2"}));
  EXPECT_THAT(aligned->records, Each(Field(&RankRecord::host, "machine0")));
  // What one clock read at any true time, the first machine's clock read, too: within the delays of the messages.
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const testing::Clock& own = job.clocks[rank / 2];
    const testing::Clock& first = job.clocks[0];
    for (std::size_t i = 0; i < job.ranks[rank].collectives.size(); ++i) {
      const auto was = static_cast<double>(job.ranks[rank].collectives[i].called_ns - own.read(0));
      const std::int64_t expected = first.read(std::llround(was / (1 + own.drift)));
      const std::int64_t is = aligned->records[rank].collectives[i].called_ns;
      ASSERT_NEAR(static_cast<double>(is - expected), 0, 50e3) << rank << ", " << i;
    }
  }
}

TEST(OneClock, OneMachineChangesNothing) {
  const auto job = testing::JobGenerator({.machines = 1, .ranks_of_machine = 3, .iterations = 4, .seed = 2}).make();
  const auto aligned = on_one_clock(job.ranks);
  ASSERT_TRUE(aligned.has_value()) << aligned.error().message();
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    EXPECT_EQ(aligned->records[rank].collectives.back().ended_ns, job.ranks[rank].collectives.back().ended_ns);
  }
}

TEST(OneClock, RefusesARankThatIsThereTwice) {
  auto job = testing::JobGenerator({.machines = 2, .iterations = 4}).make();
  job.ranks.push_back(job.ranks.back());
  const auto aligned = on_one_clock(job.ranks);
  ASSERT_FALSE(aligned.has_value());
  EXPECT_THAT(aligned.error().message(), HasSubstr("rank 1: "));
}

}  // namespace
}  // namespace ridgeline::jobs
